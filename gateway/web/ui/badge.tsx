/** A short label in a colour. */
import type { ComponentChildren } from "preact";

interface BadgeProps {
  readonly tone?: "neutral" | "accent" | "good" | "warning" | "bad";
  readonly title?: string;
  readonly children: ComponentChildren;
}

export function Badge({ tone = "neutral", title, children }: BadgeProps) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}
