/**
 * The dialogs that create and delete a rule. They show the calls for which the decision changes.
 */
import { useState } from "preact/hooks";
import type { Rule } from "../../../src/api/types.js";
import type { ApiError } from "../http.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { SelectField, TextField } from "../ui/field.js";
import { ErrorNotice, Progress } from "../ui/notice.js";
import { listResources, preview } from "./authority.js";
import { ConfirmDialog, type DialogProps, FormDialog, problemsIn } from "./dialogs.js";
import { type InputProps, PatternField, ScopeField } from "./pattern-fields.js";
import {
  complete,
  type Draft,
  MAX_PRIORITY,
  MIN_PRIORITY,
  previewWhenIdle,
  priorityProblem,
  UNKNOWN,
} from "./rule-editor.js";
import { EffectSums, Effects } from "./rule-table.js";

const EMPTY: Draft = { id: "", scope: "", access: "GRANTED", resource: "", priority: "0", disabled: false };

/** @param props.initial what the fields hold at first */
export function CreateRuleDialog({
  initial,
  ...props
}: DialogProps & { readonly initial?: Partial<Rule> | undefined }) {
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, ...initial, priority: `${initial?.priority ?? 0}` });
  const set = (fields: Partial<Draft>) => setDraft({ ...draft, ...fields });
  const rule = complete(draft);
  const resources = useLoad(listResources, []);
  const effects = useLoad(
    (signal) => previewWhenIdle(rule && { create: rule }, resources.value, signal),
    [draft, resources.value],
  );
  const { value, error } = effects;
  const isPending = rule !== undefined && effects.busy;
  const isKnown = !isPending && effects.isCurrent && value !== undefined;
  const problems = error ? problemsOf(error) : {};
  const failed = rule && (resources.error ?? (isPending || Object.keys(problems).length > 0 ? undefined : error));
  return (
    <FormDialog
      {...props}
      title="New rule"
      action="Create rule"
      locked={lockedBecause({
        isIncomplete: rule === undefined,
        isKnown,
        hasProblem: Object.keys(problems).length > 0,
      })}
      end={isKnown && <EffectSums effects={value} />}
      act={() => rule && call("auth/Rules/Create", { rule })}
      done={`Rule ${draft.id} is created`}
    >
      <TextField
        label="ID"
        hint="Names the rule, such as onlyloggedin."
        error={problems.id}
        required
        value={draft.id}
        onInput={(id) => set({ id })}
      />
      <SelectField
        label="Access"
        options={ACCESS}
        value={draft.access}
        onInput={(access) => set({ access: access as Rule["access"] })}
      />
      <ScopeField value={draft.scope} problem={problems.scope} onInput={(scope) => set({ scope })} />
      <PatternField resources={resources.value} value={draft.resource} onInput={(resource) => set({ resource })} />
      <PriorityField value={draft.priority} onInput={(priority) => set({ priority })} />
      {isPending && failed === undefined && <Progress label="Finding out what this rule will change" />}
      {failed && <Unknown error={failed} onRetry={resources.error ? resources.reload : effects.reload} />}
      {isKnown && value.length > 0 && <Effects effects={value} />}
    </FormDialog>
  );
}

const ACCESS = [
  ["GRANTED", "Granted"],
  ["DENIED", "Denied"],
] as const;

function PriorityField(props: InputProps) {
  return (
    <TextField
      {...props}
      label="Priority"
      hint="Rules with a higher priority are looked at first."
      error={priorityProblem(props.value)}
      type="number"
      min={MIN_PRIORITY}
      max={MAX_PRIORITY}
      required
    />
  );
}

/**
 * Why the action is locked; undefined if it may be taken. The browser says what is missing in an
 * incomplete form.
 */
function lockedBecause(state: {
  readonly isIncomplete: boolean;
  readonly isKnown: boolean;
  readonly hasProblem: boolean;
}): string | undefined {
  if (state.isIncomplete || state.isKnown) return undefined;
  return state.hasProblem ? "Locked until the field above is corrected." : UNKNOWN;
}

function Unknown({ error, onRetry }: { readonly error: ApiError; readonly onRetry: () => void }) {
  return (
    <ErrorNotice error={error} onRetry={onRetry}>
      <p>So it is not known here whose calls the rule decides.</p>
    </ErrorNotice>
  );
}

/** What is wrong with the fields. A 409 means that the ID is taken. */
function problemsOf(error: ApiError): { readonly id?: string; readonly scope?: string } {
  if (error.status === 409) return { id: "A rule with this ID exists already" };
  const { id, scope } = problemsIn(error, "create");
  return { ...(id && { id }), ...(scope && { scope }) };
}

/** Shows first the calls for which the decision changes. */
export function DeleteRuleDialog({ rule: { id }, ...props }: { readonly rule: Rule } & DialogProps) {
  const effects = useLoad(async (signal) => preview({ delete: id }, await listResources(signal), signal), [id]);
  const { value, error, busy, reload } = effects;
  return (
    <ConfirmDialog
      {...props}
      title="Delete a rule"
      name={id}
      what="the rule’s ID"
      action="Delete rule"
      locked={value === undefined ? UNKNOWN : undefined}
      act={() => call("auth/Rules/Delete", { id })}
      done={`Rule ${id} is deleted`}
      start={value && <EffectSums effects={value} />}
    >
      {value !== undefined ? (
        value.length > 0 && (
          <>
            <p>These calls will be answered differently, everywhere and at once:</p>
            <Effects effects={value} />
          </>
        )
      ) : error !== undefined && !busy ? (
        <Unknown error={error} onRetry={reload} />
      ) : (
        <Progress label="Finding out what will change" />
      )}
    </ConfirmDialog>
  );
}
