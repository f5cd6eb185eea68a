/** The dialogs that create, edit, enforce and delete a limit. */
import type { Limit, ListedLimit, Per } from "../../../src/api/types.js";
import { usualBurst } from "../../../src/limits/rate.js";
import type { ApiError } from "../http.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { CheckField, SelectField, TextField } from "../ui/field.js";
import { listResources } from "./authority.js";
import { ConfirmDialog, type DialogProps, FormDialog, problemsIn } from "./dialogs.js";
import { type DraftForm, textsOf, useDraft } from "./draft.js";
import { allowance, refusedInWords, sharedBy } from "./limit-words.js";
import { PatternField, ScopeField } from "./pattern-fields.js";

/** The dialog that is open. */
export type Doing =
  | { readonly what: "create"; readonly initial: Limit | undefined }
  | { readonly what: "edit" | "shadow" | "delete"; readonly listed: ListedLimit };

/** A limit while it is typed. */
interface Draft extends Omit<Limit, "concurrent"> {
  readonly concurrent: string;
}

const EMPTY: Draft = {
  ...{ id: "", scope: "<public>", resource: "*:*:*", per: "ACCOUNT" },
  ...{ rate: "", burst: "", quota: "", concurrent: "", shadow: true },
};

function draftOf(limit: Limit): Draft {
  // A burst that is one second's calls stays so when the rate is changed.
  const burst = limit.burst === usualBurst(limit.rate) ? "" : unlessZero(limit.burst);
  return { ...limit, burst, concurrent: unlessZero(limit.concurrent) };
}

function unlessZero(number: string | number): string {
  return `${number}` === "0" ? "" : `${number}`;
}

function limitOf({ concurrent, burst, rate, quota, ...others }: Draft): Limit {
  return { ...others, rate: rate.trim(), burst: burst || "0", quota: quota.trim(), concurrent: Number(concurrent) };
}

interface LimitDialogProps extends DialogProps {
  /** The limit that is edited; undefined for a new one. */
  readonly before?: Limit;
  /** What the fields of a new limit hold at first. */
  readonly initial?: Limit | undefined;
}

/** Creates or edits a limit. A new one is offered as a shadow. */
export function LimitDialog({ before, initial, ...props }: LimitDialogProps) {
  const isNew = before === undefined;
  const form = useDraft<Draft>(
    () => firstDraft(before, initial),
    (error) => problemsOf(error, isNew),
  );
  const { draft, set, attempt } = form;
  const limit = limitOf(draft);
  const isSame = before !== undefined && JSON.stringify(limitOf(draftOf(before))) === JSON.stringify(limit);
  return (
    <FormDialog
      {...props}
      title={before === undefined ? "New limit" : `Edit ${before.id}`}
      action={before === undefined ? "Create limit" : "Save change"}
      locked={isSame ? "Nothing is changed yet." : undefined}
      act={() => attempt(send(limit, before))}
      done={`Limit ${draft.id} is ${before === undefined ? "created" : "changed"}`}
      end={<ShadowField shadow={draft.shadow} onChange={(shadow) => set({ shadow })} />}
    >
      <Fields form={form} isNew={isNew} />
    </FormDialog>
  );
}

function firstDraft(before: Limit | undefined, initial: Limit | undefined): Draft {
  if (before !== undefined) return draftOf(before);
  return initial === undefined ? EMPTY : { ...draftOf(initial), id: "", shadow: true };
}

function send(limit: Limit, before: Limit | undefined): Promise<Limit> {
  if (before === undefined) return call("auth/Limits/Create", { limit });
  return call("auth/Limits/Set", { limit, expected: before });
}

/** What is wrong with the fields. At a new limit a 409 means that the ID is taken. */
function problemsOf(error: ApiError, isNew: boolean): Readonly<Record<string, string>> {
  return isNew && error.status === 409 ? { id: "A limit with this ID exists already" } : problemsIn(error, "limit");
}

interface FieldsProps {
  readonly form: DraftForm<Draft>;
  readonly isNew: boolean;
}

function Fields({ form, isNew }: FieldsProps) {
  const { draft, problems, set, fields } = form;
  const { value: resources } = useLoad(listResources, []);
  const text = textsOf<"id" | "rate" | "burst" | "quota" | "concurrent">(form);
  return (
    <div class="stack" ref={fields}>
      {isNew && <TextField label="ID" hint="Names the limit, such as ci." required {...text("id")} />}
      <div class="field-pair">
        <TextField label="Rate" hint="Such as 100/s, 5/m, 1/h or 10/d." {...text("rate")} />
        <TextField
          label="Burst"
          hint="So many at once after a silence; empty for one second’s."
          type="number"
          min={1}
          max={2 ** 31 - 1}
          {...text("burst")}
        />
        <TextField label="Quota" hint="Such as 5000/day or 1000000/month, by UTC." {...text("quota")} />
        <TextField
          label="Open at once"
          hint="Calls that may be open at one time."
          type="number"
          min={1}
          max={1_000_000}
          {...text("concurrent")}
        />
      </div>
      <SelectField
        label="Shared by"
        hint={SHARED_BY_HINTS[draft.per]}
        error={problems.per}
        options={SHARED_BY}
        value={draft.per}
        onInput={(per) => set({ per: per as Per })}
      />
      <ScopeField value={draft.scope} problem={problems.scope} onInput={(scope) => set({ scope })} />
      <PatternField resources={resources} value={draft.resource} onInput={(resource) => set({ resource })} />
    </div>
  );
}

const SHARED_BY: readonly (readonly [Per, string])[] = (
  ["ACCOUNT", "KEY", "ADDRESS", "NAMESPACE", "EVERYONE"] as const
).map((per) => {
  const words = sharedBy({ per });
  return [per, words.charAt(0).toUpperCase() + words.slice(1)];
});

const SHARED_BY_HINTS: Readonly<Record<Per, string>> = {
  PER_UNSPECIFIED: "",
  ACCOUNT: "Each has the limit to itself. Calls without an account are not counted.",
  KEY: "Each has the limit to itself. Calls without an API key are not counted.",
  ADDRESS: "Each address of a client has the limit to itself; of IPv6, each network of 64 bits.",
  NAMESPACE: "Each has the limit to itself. A limit of the namespace default counts the calls of all.",
  EVERYONE: "They share one limit.",
};

interface ShadowFieldProps {
  readonly shadow: boolean;
  readonly onChange: (shadow: boolean) => void;
}

function ShadowField({ shadow, onChange }: ShadowFieldProps) {
  return (
    <CheckField
      label="Only count, refuse nothing"
      hint={
        shadow
          ? "A shadow shows how many calls the limit would refuse, before anyone notices. Enforce it when the number is right."
          : "Takes effect at once, at every gateway: calls beyond the limit are refused with 429."
      }
      checked={shadow}
      onInput={onChange}
    />
  );
}

/** Asks before a shadow refuses calls, or before a limit no longer does. */
export function ShadowDialog({ listed, ...props }: { readonly listed: ListedLimit } & DialogProps) {
  const { limit } = listed;
  const { id, shadow } = limit;
  const act = () => call("auth/Limits/Set", { limit: { ...limit, shadow: !shadow }, expected: limit });
  return (
    <FormDialog
      {...props}
      title={shadow ? `Enforce ${id}` : `Only count with ${id}`}
      action={shadow ? "Enforce limit" : "Only count"}
      act={act}
      done={shadow ? `Limit ${id} is enforced` : `Limit ${id} only counts now`}
    >
      <p class={`notice ${shadow && listed.refused !== "0" ? "warning" : ""}`}>
        <strong>It {refusedInWords(listed)}.</strong>
      </p>
      {shadow ? (
        <p>
          From now on it refuses such calls with 429, at once and at every gateway. It counts calls of{" "}
          <code>{limit.resource}</code> by <code>{limit.scope}</code>, and allows {sharedBy(limit)} {allowance(limit)}.
        </p>
      ) : (
        <p>From now on it refuses nothing, and counts the calls that it would refuse.</p>
      )}
    </FormDialog>
  );
}

export function DeleteLimitDialog({ limit, ...props }: { readonly limit: Limit } & DialogProps) {
  const { id } = limit;
  return (
    <ConfirmDialog
      {...props}
      title="Delete a limit"
      name={id}
      what="the limit’s ID"
      action="Delete limit"
      act={() => call("auth/Limits/Delete", { id })}
      done={`Limit ${id} is deleted`}
    >
      <p>
        {limit.shadow
          ? "It counts no calls any more. It has refused none, because it is a shadow."
          : `Nothing is refused by it any more, at once and at every gateway. It allows ${sharedBy(limit)} ${allowance(limit)}.`}
      </p>
    </ConfirmDialog>
  );
}
