/** Something that a form or a button does, and how it goes. */
import { useState } from "preact/hooks";
import { ApiError } from "../http.js";

export interface Submitting {
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  /** For a form's onSubmit, or a button's onClick. One thing at a time. */
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
