import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Loading } from "../state/load.js";
import { keepFocus } from "../state/router.js";
import { ErrorNotice } from "../ui/error-notice.js";
import { Progress } from "../ui/progress.js";

interface LoadedProps<Value> {
  readonly loading: Loading<Value>;
  /** What is being loaded: `the rules`. */
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
}

/** What has arrived; until then that it is on its way, or why it did not arrive. */
export function Loaded<Value>({ loading, what, children }: LoadedProps<Value>) {
  const { value, isCurrent, error, busy, reload } = loading;
  const shown = useRef<HTMLDivElement>(null);
  const hadFocus = shown.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    // The row whose button was pressed may be gone.
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
