import type { ComponentChildren } from "preact";

interface EmptyStateProps {
  readonly title: string;
  /** Why there is nothing, and what to do next. */
  readonly children: ComponentChildren;
}

export function EmptyState({ title, children }: EmptyStateProps) {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}
