/** Loads a value for a page, again when its parameters change, and keeps the last value until then. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError } from "../http.js";

export interface Loading<Value> {
  /** The last value, kept while a newer one is loading and when that failed. */
  readonly value: Value | undefined;
  /** Whether `value` was loaded for the present parameters. */
  readonly isCurrent: boolean;
  /** Why the last try failed, if it did. */
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  readonly reload: () => void;
}

interface State<Value> {
  /** Parameters of the last try. */
  readonly parameters: readonly unknown[];
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  readonly loaded: { readonly value: Value; readonly parameters: readonly unknown[] } | undefined;
}

/**
 * @param load is called anew whenever `parameters` change; the signal cancels the call before
 */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  parameters: readonly unknown[],
): Loading<Value> {
  const [state, setState] = useState<State<Value>>({ parameters, busy: true, error: undefined, loaded: undefined });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  useEffect(() => {
    const controller = new AbortController();
    // An error stays with the value it is shown with, or it would disappear and come back at each try.
    setState(({ loaded, error }) => ({
      parameters,
      busy: true,
      error: isFor(loaded, parameters) ? error : undefined,
      loaded,
    }));
    const settle = (change: (before: State<Value>) => Partial<State<Value>>) => {
      if (!controller.signal.aborted)
        setState((before) => ({ ...before, busy: false, error: undefined, ...change(before) }));
    };
    load(controller.signal).then(
      (value) => settle(() => ({ loaded: { value, parameters } })),
      (thrown) =>
        settle(({ loaded }) => ({
          error: ApiError.from(thrown),
          loaded: isFor(loaded, parameters) ? loaded : undefined,
        })),
    );
    return () => controller.abort();
  }, [...parameters, round]);
  const isTried = isSame(state.parameters, parameters);
  return {
    value: state.loaded?.value,
    isCurrent: isFor(state.loaded, parameters),
    error: isTried ? state.error : undefined,
    busy: state.busy || !isTried,
    reload,
  };
}

function isFor(loaded: State<unknown>["loaded"], parameters: readonly unknown[]): boolean {
  return loaded !== undefined && isSame(loaded.parameters, parameters);
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.every((value, index) => value === other[index]);
}
