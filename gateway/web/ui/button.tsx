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

export function Spinner() {
  return <span class="spinner" aria-hidden="true" />;
}
