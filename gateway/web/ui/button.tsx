/** Buttons. */
import type { ComponentChildren, JSX } from "preact";

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "class" | "icon"> & {
  readonly kind?: "primary" | "secondary" | "quiet" | "danger" | undefined;
  readonly small?: boolean;
  /** Whether the action that it started is still running. */
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
};

/**
 * A button that is busy or disabled does nothing, but keeps the focus. With the attribute
 * `disabled` it would lose the focus.
 */
export function Button({
  kind = "secondary",
  small = false,
  busy = false,
  disabled = false,
  children,
  ...rest
}: ButtonProps) {
  const { onClick } = rest;
  const idle = busy || disabled;
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind} ${small ? "small" : ""}`}
      aria-disabled={idle || undefined}
      onClick={idle ? (event) => event.preventDefault() : onClick}
    >
      {busy && <Spinner />}
      {children}
    </button>
  );
}

/** An action on a row of a table. */
interface Action {
  readonly title: string;
  /** The title for screen readers, with the name of the row. */
  readonly label: string;
  readonly kind?: "danger";
  readonly act: () => void;
}

export function Actions({ actions }: { readonly actions: readonly Action[] }) {
  return (
    <span class="actions">
      {actions.map(({ title, label, kind, act }) => (
        <Button key={title} small kind={kind} onClick={act} aria-label={label}>
          {title}
        </Button>
      ))}
    </span>
  );
}

export function Spinner() {
  return <span class="spinner" aria-hidden="true" />;
}
