/** The fields of a rule or a limit that say whose calls, and which calls, it is about. */
import { TextField } from "../ui/field.js";
import { coveredBy, problemOf } from "./pattern.js";

export interface InputProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

export function ScopeField({ value, problem, onInput }: InputProps & { readonly problem: string | undefined }) {
  return (
    <>
      <TextField
        label="Scope"
        hint={
          <>
            <code>&lt;public&gt;</code> for everyone, <code>*</code> for anyone logged in, or a scope that accounts
            hold.
          </>
        }
        error={problem}
        required
        list="scopes"
        value={value}
        onInput={onInput}
      />
      <datalist id="scopes">
        <option value="<public>" />
        <option value="*" />
      </datalist>
    </>
  );
}

export function PatternField({
  resources,
  value,
  onInput,
}: InputProps & { readonly resources: readonly string[] | undefined }) {
  const covered = coveredBy(value, resources ?? []);
  const problem = value === "" ? undefined : problemOf(value);
  const hint =
    value === "" || problem !== undefined || resources === undefined ? (
      <>
        Three segments, type:name:endpoint; each a word, <code>*</code>, or a word ending in <code>*</code>, such as{" "}
        <code>service:helloworld:*</code>.
      </>
    ) : covered.length === 0 ? (
      "Covers no endpoint that is registered now."
    ) : (
      `Covers ${covered.length} of ${resources.length} endpoints: ${covered.slice(0, MAX_LISTED).join(", ")}${covered.length > MAX_LISTED ? ", …" : ""}`
    );
  return (
    <>
      <TextField
        label="Resource"
        hint={hint}
        error={problem}
        required
        list="resources"
        value={value}
        onInput={onInput}
      />
      <datalist id="resources">
        <option value="*:*:*" />
        {resources?.map((resource) => (
          <option key={resource} value={resource} />
        ))}
      </datalist>
    </>
  );
}

const MAX_LISTED = 3;
