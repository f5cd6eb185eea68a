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
import { ConfirmDialog, type DialogProps, FormDialog } from "./dialogs.js";
import { coveredBy, problemOf } from "./pattern.js";
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

interface InputProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function ScopeField({ value, problem, onInput }: InputProps & { readonly problem: string | undefined }) {
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

function PatternField({
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

/**
 * Which fields the authority refused, and why. The Detail begins with the field, `create.id: …`. A
 * 409 means that the ID is taken.
 */
function problemsOf({ status, message }: ApiError): { readonly id?: string; readonly scope?: string } {
  if (status === 409) return { id: "A rule with this ID exists already" };
  const [, field, problem = ""] = /^create\.(id|scope): (.*)$/s.exec(message) ?? [];
  return field === undefined ? {} : { [field]: problem.charAt(0).toUpperCase() + problem.slice(1) };
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
