/** Notices instead of content: it is loading, loading failed, or there is none. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ApiError } from "../http.js";
import { Button, Spinner } from "./button.js";

/** Loading is announced only if it takes longer than this, in milliseconds. */
const NOTICEABLE_MS = 200;

export function Progress({ label }: { readonly label: string }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), NOTICEABLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="progress" role="status">
      {shown && (
        <>
          <Spinner /> {label}
        </>
      )}
    </p>
  );
}

interface ErrorNoticeProps {
  readonly error: ApiError;
  readonly onRetry?: (() => void) | undefined;
  /** What to do about it. */
  readonly children?: ComponentChildren;
}

/** The gateway's error message, and what to do. */
export function ErrorNotice({ error, onRetry, children }: ErrorNoticeProps) {
  return (
    <div class="notice bad" role="alert">
      <p>
        {error.status > 0 && <strong class="code">{error.status}</strong>} {error.message}
      </p>
      {children}
      {error.requestId !== undefined && <p class="hint">Request id {error.requestId}</p>}
      {onRetry && (
        <p>
          <Button small onClick={onRetry}>
            Try again
          </Button>
        </p>
      )}
    </div>
  );
}

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
