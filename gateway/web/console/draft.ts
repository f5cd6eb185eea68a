/** What is typed into a form, and what the authority says is wrong with it. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../http.js";

/** What is wrong, by the field of the draft. */
type Problems = Readonly<Record<string, string>>;

export interface DraftForm<Draft> {
  readonly draft: Draft;
  readonly problems: Problems;
  /** Changes fields of the draft. What was wrong with them is no longer shown. */
  readonly set: (fields: Partial<Draft>) => void;
  /** The element around the fields. The first with a problem gets the focus. */
  readonly fields: RefObject<HTMLDivElement | null>;
  /**
   * Waits for a request with the draft. If it fails because of fields, they say why, and the result
   * is undefined. @throws {ApiError} for any other failure
   */
  readonly attempt: <Result>(sent: Promise<Result>) => Promise<Result | undefined>;
}

/** @param problemsOf which fields an error is about; none if it is about something else */
export function useDraft<Draft extends object>(
  initial: () => Draft,
  problemsOf: (error: ApiError, draft: Draft) => Problems,
): DraftForm<Draft> {
  const [draft, setDraft] = useState(initial);
  const [problems, setProblems] = useState<Problems>({});
  const fields = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const wrong = fields.current?.querySelector<HTMLElement>("[aria-invalid]");
    const folded = wrong?.closest("details");
    if (folded) folded.open = true;
    wrong?.focus();
  }, [problems]);
  const set = (changed: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...changed }));
    // Problems with other fields stay the same object, or the focus would go to them.
    setProblems((before) => {
      const others = Object.entries(before).filter(([field]) => !(field in changed));
      return others.length === Object.keys(before).length ? before : Object.fromEntries(others);
    });
  };
  const attempt = <Result>(sent: Promise<Result>) =>
    sent.catch((thrown: unknown) => {
      const found = problemsOf(ApiError.from(thrown), draft);
      if (Object.keys(found).length === 0) throw thrown;
      setProblems(found);
      return undefined;
    });
  return { draft, problems, set, fields, attempt };
}

/** The value of each text field of a draft, what is wrong with it, and what its input changes. */
export function textsOf<Name extends string>({
  draft,
  problems,
  set,
}: Pick<DraftForm<Record<Name, string>>, "draft" | "problems" | "set">) {
  return (name: Name) => ({
    value: draft[name],
    error: problems[name],
    onInput: (value: string) => set({ [name]: value } as Partial<Record<Name, string>>),
  });
}
