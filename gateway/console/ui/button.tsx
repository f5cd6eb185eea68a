import type { ComponentChildren, JSX } from "preact";
import { Spinner } from "./progress.js";

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "class" | "icon"> & {
  readonly kind?: "primary" | "secondary" | "quiet" | "danger";
  readonly small?: boolean;
  /** Something that it started is still going on. It can still be focused, and does nothing meanwhile. */
  readonly busy?: boolean;
  readonly children: ComponentChildren;
};

export function Button({ kind = "secondary", small = false, busy = false, children, ...rest }: ButtonProps) {
  const { onClick } = rest;
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind} ${small ? "small" : ""}`}
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      {busy && <Spinner />}
      {children}
    </button>
  );
}
