import type { ComponentChildren } from "preact";
import { useTitle } from "../state/router.js";

interface PageHeadProps {
  readonly title: string;
  /** What the page is for. */
  readonly lead: ComponentChildren;
  /** Buttons for what can be done here. */
  readonly children?: ComponentChildren;
}

export function PageHead({ title, lead, children }: PageHeadProps) {
  useTitle(title);
  return (
    <header class="console-head">
      <div>
        <h1>{title}</h1>
        <p class="lead">{lead}</p>
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  );
}
