/**
 * What the pages of the console have in common: their head, and content that is shown once it has
 * been loaded.
 */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Session } from "../session/session.js";
import { keepFocus } from "../state/focus.js";
import type { Loading } from "../state/load.js";
import { useTitle } from "../state/router.js";
import { Button } from "../ui/button.js";
import { PlusIcon } from "../ui/icons.js";
import { ErrorNotice, Progress } from "../ui/notice.js";
import { MAX_LISTED } from "./authority.js";

/** The properties of each page of the console. */
export interface ConsoleProps {
  readonly session: Session;
}

interface PageHeadProps {
  readonly title: string;
  readonly lead: ComponentChildren;
  /** Buttons for the actions of the page. */
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

interface PageSectionProps extends PageHeadProps {
  /** The id of the heading. */
  readonly id: string;
  readonly content: ComponentChildren;
}

/** One of several parts of a page, each with a list and buttons of its own. */
export function PageSection({ id, title, lead, children, content }: PageSectionProps) {
  return (
    <section class="stack" aria-labelledby={id}>
      <header class="console-head">
        <div>
          <h2 id={id}>{title}</h2>
          <p class="hint">{lead}</p>
        </div>
        {children !== undefined && <div class="actions">{children}</div>}
      </header>
      {content}
    </section>
  );
}

/** The button of a page's head that opens the dialog for a new object. */
export function NewButton({ title, onClick }: { readonly title: string; readonly onClick: () => void }) {
  return (
    <Button kind="primary" onClick={onClick}>
      <PlusIcon /> {title}
    </Button>
  );
}

/** Says that a list has more entries than were loaded. */
export function MoreNotice({ listed, what }: { readonly listed: number; readonly what: string }) {
  if (listed < MAX_LISTED) return null;
  return (
    <p class="notice">
      These are the first {listed.toLocaleString()}. The command <code>portico auth list {what}</code> lists all.
    </p>
  );
}

interface LoadedProps<Value> {
  readonly loading: Loading<Value>;
  /** What is being loaded: `the rules`. */
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
}

/**
 * Draws a value that was loaded. Until then, it draws the progress of loading, or the reason of a
 * failure.
 */
export function Loaded<Value>({ loading, what, children }: LoadedProps<Value>) {
  const { value, isCurrent, error, busy, reload } = loading;
  const shown = useRef<HTMLDivElement>(null);
  const hadFocus = shown.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    // The action may have removed the row whose button had the focus.
    if (hadFocus) keepFocus();
  });
  if (value === undefined || !isCurrent) {
    if (error !== undefined && !busy) return <ErrorNotice error={error} onRetry={reload} />;
    return <Progress label={`Loading ${what}`} />;
  }
  return (
    <div class="page" ref={shown} aria-busy={busy}>
      {error && (
        <ErrorNotice error={error} onRetry={reload}>
          <p>What is shown is from before.</p>
        </ErrorNotice>
      )}
      {children(value)}
    </div>
  );
}
