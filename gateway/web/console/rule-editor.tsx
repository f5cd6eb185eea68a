/** Edits a rule in its row. Below the table are the effect in numbers and the button that saves. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Effect, Rule } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { type Loading, useLoad, useSubmit } from "../state/load.js";
import { Button } from "../ui/button.js";
import { ErrorNotice, Progress } from "../ui/notice.js";
import { announce } from "../ui/status.js";
import { preview } from "./authority.js";
import { problemOf } from "./pattern.js";
import { EffectSums, Effects } from "./rule-table.js";

/** A rule while it is typed. */
export interface Draft extends Omit<Rule, "priority"> {
  readonly priority: string;
}

export function draftOf(rule: Rule): Draft {
  return { ...rule, priority: `${rule.priority}` };
}

// A priority is an int32 (proto/portico/auth/v1/rules.proto).
export const MIN_PRIORITY = -(2 ** 31);
export const MAX_PRIORITY = 2 ** 31 - 1;

export function priorityProblem(text: string): string | undefined {
  const priority = Number(text);
  if (Number.isInteger(priority) && priority >= MIN_PRIORITY && priority <= MAX_PRIORITY) return undefined;
  return `Must be a whole number from ${MIN_PRIORITY} to ${MAX_PRIORITY}`;
}

/** The rule of a draft; undefined as long as something is missing or wrong. */
export function complete(draft: Draft): Rule | undefined {
  const { id, scope, resource, priority } = draft;
  if (id === "" || scope === "" || priority === "" || priorityProblem(priority) !== undefined) return undefined;
  return problemOf(resource) === undefined ? { ...draft, priority: Number(priority) } : undefined;
}

const FORM = "rule-edit";

/** The cells of the row that is edited, by the title of their column. */
export function editedCells(
  draft: Draft,
  onInput: (draft: Draft) => void,
  onClose: () => void,
): Record<string, ComponentChildren> {
  const onKeyDown = ({ key }: KeyboardEvent) => key === "Escape" && onClose();
  const input = (name: "scope" | "resource" | "priority", label: string) => (
    <input
      form={FORM}
      onKeyDown={onKeyDown}
      aria-label={`${label} of ${draft.id}`}
      required
      autocomplete="off"
      autocapitalize="none"
      spellcheck={false}
      inputMode={name === "priority" ? "numeric" : undefined}
      aria-invalid={isWrong(name, draft[name]) || undefined}
      value={draft[name]}
      onInput={({ currentTarget }) => onInput({ ...draft, [name]: currentTarget.value })}
    />
  );
  return {
    Scope: input("scope", "Scope"),
    Access: (
      <select
        form={FORM}
        onKeyDown={onKeyDown}
        aria-label={`Access of ${draft.id}`}
        value={draft.access}
        onChange={({ currentTarget }) => onInput({ ...draft, access: currentTarget.value as Rule["access"] })}
      >
        <option value="GRANTED">Granted</option>
        <option value="DENIED">Denied</option>
      </select>
    ),
    Resource: input("resource", "Resource"),
    Priority: input("priority", "Priority"),
  };
}

function isWrong(name: string, value: string): boolean {
  if (name === "priority") return priorityProblem(value) !== undefined;
  return name === "resource" ? problemOf(value) !== undefined : value === "";
}

interface EditBarProps {
  readonly rule: Rule;
  readonly draft: Draft;
  readonly resources: Loading<readonly string[]>;
  readonly onClose: () => void;
  /** After an attempt that failed, the rule may be otherwise than it is shown. */
  readonly onTried: () => void;
  readonly onDone: () => void;
}

/** The authority is asked when typing has paused for this long, in milliseconds. */
const PAUSE_MS = 300;

/** Asks the authority what a change would change, once typing has paused. */
export async function previewWhenIdle(
  change: Parameters<typeof preview>[0] | undefined,
  resources: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<readonly Effect[] | undefined> {
  if (change === undefined || resources === undefined) return undefined;
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  signal.throwIfAborted();
  return preview(change, resources, signal);
}

/** What the changed rule would change; `value` is undefined until it is known. */
function useEffectOf(changed: Rule | undefined, resources: Loading<readonly string[]>) {
  const { value: known } = resources;
  const effects = useLoad(
    (signal) => previewWhenIdle(changed && { set: changed }, known, signal),
    [JSON.stringify(changed), known],
  );
  const value = effects.busy || !effects.isCurrent ? undefined : effects.value;
  return { effects, value, error: resources.error ?? (effects.busy ? undefined : effects.error) };
}

export function EditBar({ rule, draft, resources, onClose, onTried, onDone }: EditBarProps) {
  const changed = complete(draft);
  const { effects, value, error } = useEffectOf(changed, resources);
  const problem = problemWith(draft, rule) ?? (value === undefined ? UNKNOWN : undefined);
  const saving = useSubmit(async () => {
    if (changed === undefined || problem !== undefined) return;
    await call("auth/Rules/Set", { rule: changed, expected: rule }).finally(onTried);
    announce(`Rule ${rule.id} is changed`);
    onDone();
  });
  const bar = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    const isEdited = rule.disabled === draft.disabled;
    const first = isEdited ? document.querySelector<HTMLElement>(`input[form=${FORM}]`) : null;
    (first ?? bar.current?.querySelector("button"))?.focus();
  }, []);
  return (
    <form
      ref={bar}
      id={FORM}
      class="card stack edit-bar"
      aria-label={`Change of rule ${rule.id}`}
      onSubmit={saving.submit}
      onKeyDown={(event) => event.key === "Escape" && !saving.busy && onClose()}
    >
      <h2>{titleOf(rule, draft)}</h2>
      {value ? (
        <EffectSums effects={value} />
      ) : (
        changed && error === undefined && <Progress label="Finding out what will change" />
      )}
      {error && <ErrorNotice error={error} onRetry={resources.error ? resources.reload : effects.reload} />}
      {saving.error && <ErrorNotice error={saving.error} />}
      <p class="actions">
        <Button type="submit" kind="primary" busy={saving.busy} disabled={problem !== undefined}>
          Save change
        </Button>
        <Button onClick={onClose} disabled={saving.busy}>
          Cancel
        </Button>
        <span class="hint">{problem ?? "Takes effect at once, at every gateway."}</span>
      </p>
      {value && value.length > 0 && (
        <details>
          <summary>Which calls</summary>
          <Effects effects={value} />
        </details>
      )}
    </form>
  );
}

export const UNKNOWN = "Locked until it is known whose calls this changes.";

function titleOf(rule: Rule, draft: Draft): string {
  if (rule.disabled === draft.disabled) return `Edit ${rule.id}`;
  return draft.disabled ? `Switch off ${rule.id}` : `Switch on ${rule.id}`;
}

/** Why the draft cannot be saved, whatever its effect. */
function problemWith(draft: Draft, rule: Rule): string | undefined {
  const pattern = problemOf(draft.resource);
  if (pattern !== undefined) return `Resource: ${pattern}`;
  const priority = priorityProblem(draft.priority);
  if (priority !== undefined || draft.priority === "") return `Priority: ${priority ?? "is missing"}`;
  if (draft.scope === "") return "Scope: is missing";
  return JSON.stringify(complete(draft)) === JSON.stringify(rule) ? "Nothing is changed yet." : undefined;
}
