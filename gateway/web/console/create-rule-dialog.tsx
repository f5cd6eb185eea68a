import { useState } from "preact/hooks";
import type { Effect, Rule } from "../../../src/api/types.js";
import type { ApiError } from "../http.js";
import { call } from "../session/api.js";
import { type Loading, useLoad } from "../state/load.js";
import { ErrorNotice } from "../ui/error-notice.js";
import { Field } from "../ui/field.js";
import { Progress } from "../ui/progress.js";
import { announce } from "../ui/status.js";
import { listResources, preview } from "./authority.js";
import { Effects } from "./effects.js";
import { FormDialog } from "./form-dialog.js";
import { NameField } from "./name-field.js";
import { coveredBy, problemOf } from "./pattern.js";

interface CreateRuleDialogProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** A rule as it is typed. */
interface Draft extends Omit<Rule, "priority"> {
  readonly priority: string;
}

const EMPTY: Draft = { id: "", scope: "", access: "GRANTED", resource: "", priority: "0" };

/** Says, while it is filled in, what the rule covers and whose calls it will answer otherwise. */
export function CreateRuleDialog({ onClose, onDone }: CreateRuleDialogProps) {
  const [draft, setDraft] = useState(EMPTY);
  const set = (fields: Partial<Draft>) => setDraft({ ...draft, ...fields });
  const rule = complete(draft);
  const foreseen = useLoad((signal) => foresee(rule, signal), [draft]);
  const isPending = rule !== undefined && foreseen.busy;
  const problems = foreseen.error ? problemsOf(foreseen.error) : {};
  const act = async () => {
    // What is wrong stands at its field.
    if (rule === undefined) return;
    await call("auth/Rules/Create", { rule });
    announce(`Rule ${draft.id} is created`);
    onDone();
  };
  return (
    <FormDialog title="New rule" action="Create rule" waiting={isPending} act={act} onClose={onClose}>
      <NameField
        label="ID"
        hint="Names the rule, such as onlyloggedin."
        error={problems.id}
        required
        value={draft.id}
        onInput={(id) => set({ id })}
      />
      <Field label="Access">
        {(control) => (
          <select
            {...control}
            value={draft.access}
            onChange={({ currentTarget }) => set({ access: currentTarget.value as Rule["access"] })}
          >
            <option value="GRANTED">Granted</option>
            <option value="DENIED">Denied</option>
          </select>
        )}
      </Field>
      <NameField
        label="Scope"
        hint={
          <>
            <code>&lt;public&gt;</code> for everyone, <code>*</code> for anyone logged in, or a scope that accounts
            hold.
          </>
        }
        error={problems.scope}
        required
        list="scopes"
        value={draft.scope}
        onInput={(scope) => set({ scope })}
      />
      <datalist id="scopes">
        <option value="<public>" />
        <option value="*" />
      </datalist>
      <PatternField value={draft.resource} onInput={(resource) => set({ resource })} />
      <Field label="Priority" hint="A higher one is looked at first." error={priorityProblem(draft.priority)}>
        {(control) => (
          <input
            {...control}
            type="number"
            step="1"
            min={MIN_PRIORITY}
            max={MAX_PRIORITY}
            required
            value={draft.priority}
            onInput={({ currentTarget }) => set({ priority: currentTarget.value })}
          />
        )}
      </Field>
      <Foreseen {...foreseen} busy={isPending} />
    </FormDialog>
  );
}

// As proto/portico/auth/v1/rules.proto has it, an int32.
const MIN_PRIORITY = -(2 ** 31);
const MAX_PRIORITY = 2 ** 31 - 1;

/** What is wrong with a priority; nothing while there is none. */
function priorityProblem(text: string): string | undefined {
  const priority = Number(text);
  if (Number.isInteger(priority) && priority >= MIN_PRIORITY && priority <= MAX_PRIORITY) return undefined;
  return `Must be a whole number from ${MIN_PRIORITY} to ${MAX_PRIORITY}`;
}

/** Undefined as long as something is missing or wrong. */
function complete(draft: Draft): Rule | undefined {
  const { id, scope, resource, priority } = draft;
  if (id === "" || scope === "" || priority === "" || priorityProblem(priority) !== undefined) return undefined;
  return problemOf(resource) === undefined ? { ...draft, priority: Number(priority) } : undefined;
}

/** How long to wait for the next keystroke, in milliseconds. */
const PAUSE = 300;

/** Asks the authority what the rule would change, when nobody has typed for a moment. */
async function foresee(rule: Rule | undefined, signal: AbortSignal): Promise<readonly Effect[] | undefined> {
  if (rule === undefined) return undefined;
  await new Promise((resolve) => setTimeout(resolve, PAUSE));
  signal.throwIfAborted();
  return preview({ create: rule }, signal);
}

interface PatternFieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function PatternField({ value, onInput }: PatternFieldProps) {
  const { value: resources } = useLoad(listResources, []);
  const covered = coveredBy(value, resources ?? []);
  const problem = value === "" ? undefined : problemOf(value);
  const hint =
    value === "" || problem !== undefined || resources === undefined ? (
      <>
        Three segments, type:name:endpoint; each a word, <code>*</code>, or a word ending in <code>*</code>, such as{" "}
        <code>service:helloworld:*</code>.
      </>
    ) : covered.length === 0 ? (
      "Covers no endpoint that is there now."
    ) : (
      `Covers ${covered.length} of ${resources.length} endpoints: ${covered.slice(0, MOST_COVERED).join(", ")}${covered.length > MOST_COVERED ? ", …" : ""}`
    );
  return (
    <>
      <NameField
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

const MOST_COVERED = 3;

function Foreseen({ value: effects, isCurrent, error, busy }: Loading<readonly Effect[] | undefined>) {
  const isTold = !busy && isCurrent && effects !== undefined;
  // What is wrong with a field stands there.
  const failed = !busy && error !== undefined && Object.keys(problemsOf(error)).length === 0 ? error : undefined;
  return (
    <>
      {busy && <Progress label="Finding out what this rule will change" />}
      {failed && (
        <ErrorNotice error={failed}>
          <p>So it is not known here whom the rule would let in or keep out.</p>
        </ErrorNotice>
      )}
      <div role="status">
        {isTold && (
          <div class={effects.length > 0 ? "notice warning" : "notice"}>
            <p>
              {effects.length > 0
                ? "This rule will change how calls are answered:"
                : "This rule will change nothing for those who are there now."}
            </p>
            <Effects effects={effects} />
          </div>
        )}
      </div>
    </>
  );
}

/** What the authority says is wrong, by field. It names the field, `create.id: …`, and says where an ID is taken. */
function problemsOf({ status, message }: ApiError): { readonly id?: string; readonly scope?: string } {
  if (status === 409) return { id: "A rule with this ID exists already" };
  const [, field, problem = ""] = /^create\.(id|scope): (.*)$/s.exec(message) ?? [];
  return field === undefined ? {} : { [field]: problem.charAt(0).toUpperCase() + problem.slice(1) };
}
