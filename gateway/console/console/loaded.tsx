import type { ComponentChildren } from "preact";
import type { Loading } from "../load.js";
import { ErrorNotice } from "../ui/error-notice.js";
import { Progress } from "../ui/progress.js";

interface LoadedProps<Value> {
  readonly loading: Loading<Value>;
  /** What is being loaded: `the rules`. */
  readonly what: string;
  readonly children: (value: Value) => ComponentChildren;
}

/** What has arrived; until then that it is on its way, or why it did not arrive. */
export function Loaded<Value>({ loading: { value, error, reload }, what, children }: LoadedProps<Value>) {
  if (error !== undefined) return <ErrorNotice error={error} onRetry={reload} />;
  if (value === undefined) return <Progress label={`Loading ${what}`} />;
  return <>{children(value)}</>;
}
