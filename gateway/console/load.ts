/** Something that a page shows once it has arrived. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError } from "./http.js";

export interface Loading<Value> {
  /** The last one that arrived, also while a newer one is on its way. */
  readonly value: Value | undefined;
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  readonly reload: () => void;
}

/** Loads again whenever `when` changes; what was on its way then is cancelled. */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  when: readonly unknown[],
): Loading<Value> {
  const [state, setState] = useState<Omit<Loading<Value>, "reload">>(NOTHING);
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  useEffect(() => {
    const gone = new AbortController();
    setState(({ value }) => ({ value, error: undefined, busy: true }));
    load(gone.signal).then(
      (value) => gone.signal.aborted || setState({ value, error: undefined, busy: false }),
      (thrown) => {
        if (!gone.signal.aborted) setState({ value: undefined, error: ApiError.from(thrown), busy: false });
      },
    );
    return () => gone.abort();
  }, [...when, round]);
  return { ...state, reload };
}

const NOTHING = { value: undefined, error: undefined, busy: true };
