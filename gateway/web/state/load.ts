/** Something that a page shows once it has arrived. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError } from "../http.js";

export interface Loading<Value> {
  /** The last one that arrived, also while a newer one is on its way or when that failed. */
  readonly value: Value | undefined;
  /** Whether `value` is of the present `when`, and not of one before. */
  readonly isCurrent: boolean;
  /** Why the last try failed. */
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  readonly reload: () => void;
}

interface State<Value> {
  /** What the last try was for. */
  readonly when: readonly unknown[];
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  readonly arrived: { readonly value: Value; readonly when: readonly unknown[] } | undefined;
}

/** Loads again whenever `when` changes; what was on its way then is cancelled. */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  when: readonly unknown[],
): Loading<Value> {
  const [state, setState] = useState<State<Value>>({ when, busy: true, error: undefined, arrived: undefined });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  useEffect(() => {
    const gone = new AbortController();
    // An error stays as long as what it is shown with: else it would come and go at each try.
    setState(({ arrived, error }) => ({ when, busy: true, error: isOf(arrived, when) ? error : undefined, arrived }));
    const settle = (how: (before: State<Value>) => Partial<State<Value>>) => {
      if (!gone.signal.aborted) setState((before) => ({ ...before, busy: false, error: undefined, ...how(before) }));
    };
    load(gone.signal).then(
      (value) => settle(() => ({ arrived: { value, when } })),
      (thrown) =>
        settle(({ arrived }) => ({
          error: ApiError.from(thrown),
          arrived: isOf(arrived, when) ? arrived : undefined,
        })),
    );
    return () => gone.abort();
  }, [...when, round]);
  const isTried = isSame(state.when, when);
  return {
    value: state.arrived?.value,
    isCurrent: isOf(state.arrived, when),
    error: isTried ? state.error : undefined,
    busy: state.busy || !isTried,
    reload,
  };
}

function isOf(arrived: State<unknown>["arrived"], when: readonly unknown[]): boolean {
  return arrived !== undefined && isSame(arrived.when, when);
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.every((value, index) => value === other[index]);
}
