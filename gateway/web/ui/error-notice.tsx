import type { ComponentChildren } from "preact";
import type { ApiError } from "../http.js";
import { Button } from "./button.js";

interface ErrorNoticeProps {
  readonly error: ApiError;
  readonly onRetry?: (() => void) | undefined;
  /** What to do about it. */
  readonly children?: ComponentChildren;
}

/** What went wrong, as the gateway said it, and what to do. */
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
