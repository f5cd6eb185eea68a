/**
 * Values that a page loads, and actions of its forms and buttons: whether they are running, and why
 * they failed.
 */
import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError } from "../http.js";

export interface Loading<Value> {
  /** The last value. It stays while a newer one is loading, and when loading failed. */
  readonly value: Value | undefined;
  /** Whether `value` was loaded for the present parameters. */
  readonly isCurrent: boolean;
  /** Why the last attempt failed, if it failed. */
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  readonly reload: () => void;
}

interface State<Value> {
  /** Parameters of the last attempt. */
  readonly parameters: readonly unknown[];
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  readonly loaded: { readonly value: Value; readonly parameters: readonly unknown[] } | undefined;
}

/**
 * Loads a value, and loads it again when its parameters change. Until the new value has been
 * loaded, it returns the last one.
 * @param load is called when `parameters` change; the signal cancels the call before
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
    // An error stays with the value with which it is shown. Otherwise it would disappear and come
    // back at each attempt.
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

/**
 * Loads again from time to time while the page is in sight.
 * @param everyMs undefined for never
 */
export function useRefresh(reload: () => void, everyMs: number | undefined): void {
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => document.hidden || reload(), everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs]);
}

function isFor(loaded: State<unknown>["loaded"], parameters: readonly unknown[]): boolean {
  return loaded !== undefined && isSame(loaded.parameters, parameters);
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.every((value, index) => value === other[index]);
}

/** The action of a form or a button. */
export interface Submitting {
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  /** Handles a form's onSubmit or a button's onClick. Does nothing while the action is running. */
  readonly submit: (event?: Event) => Promise<void>;
}

export function useSubmit(act: () => Promise<void>): Submitting {
  const [state, setState] = useState<Omit<Submitting, "submit">>({ busy: false, error: undefined });
  const submit = async (event?: Event) => {
    event?.preventDefault();
    if (state.busy) return;
    setState({ busy: true, error: undefined });
    try {
      await act();
      setState({ busy: false, error: undefined });
    } catch (thrown) {
      setState({ busy: false, error: ApiError.from(thrown) });
    }
  };
  return { ...state, submit };
}
