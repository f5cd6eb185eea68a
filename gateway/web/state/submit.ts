/** An action of a form or a button: whether it is running, and why it failed. */
import { useState } from "preact/hooks";
import { ApiError } from "../http.js";

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
