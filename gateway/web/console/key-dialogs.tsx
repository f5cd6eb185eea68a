/**
 * Dialogs that create, rotate and revoke an API key, and the dialog that shows a new key's secret.
 */
import { useState } from "preact/hooks";
import type { CreateKeyResponse, Key } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { CopyButton } from "../ui/copy-button.js";
import { Field, SelectField, TextField } from "../ui/field.js";
import { ConfirmDialog, type DialogProps, FormDialog, SecretDialog } from "./dialogs.js";
import { coveredBy, problemOf } from "./pattern.js";
import { daysToDuration, daysUntil, Moment } from "./time.js";

const DEFAULT_DAYS = "90";
const ON_A_DATE = "date";
const EXPIRIES = [
  ...["7", "30", "60", "90"].map((days) => [days, `In ${days} days`] as const),
  [ON_A_DATE, "On a date"] as const,
];
const MAX_DAYS = 365;

export function CreateKeyDialog(props: DialogProps<CreateKeyResponse>) {
  const [name, setName] = useState("");
  const [expiry, setExpiry] = useState<Expiry>({ choice: DEFAULT_DAYS, date: dayAfter(30) });
  const [patterns, setPatterns] = useState("");
  const resources = patterns.split(/\s+/).filter((line) => line !== "");
  const problem = resources.map(problemOf).find((one) => one !== undefined);
  const create = () => call("auth/Keys/Create", { name: name.trim(), lifetime: lifetimeOf(expiry), resources });
  return (
    <FormDialog
      {...props}
      title="New API key"
      action="Create key"
      act={() => (problem === undefined ? create() : undefined)}
    >
      <TextField
        label="Name"
        hint="What uses the key, such as “nightly backup”."
        required
        maxLength={100}
        value={name}
        onInput={setName}
      />
      <ExpiryFields expiry={expiry} onExpiry={setExpiry} />
      <Field
        label="Limited to"
        hint={
          <>
            Resource patterns, one a line, such as <code>service:helloworld:*</code>. Leave this empty for a key that
            may call everything its account may.
          </>
        }
        error={problem}
      >
        {(control) => (
          <textarea
            {...control}
            rows={2}
            value={patterns}
            onInput={({ currentTarget }) => setPatterns(currentTarget.value)}
            autocapitalize="none"
            spellcheck={false}
          />
        )}
      </Field>
    </FormDialog>
  );
}

interface Expiry {
  /** Days, or `date`. */
  readonly choice: string;
  /** The value of an input of type `date`. */
  readonly date: string;
}

function ExpiryFields({ expiry, onExpiry }: { readonly expiry: Expiry; readonly onExpiry: (expiry: Expiry) => void }) {
  return (
    <>
      <SelectField
        label="Expires"
        options={EXPIRIES}
        value={expiry.choice}
        onInput={(choice) => onExpiry({ ...expiry, choice })}
      />
      {expiry.choice === ON_A_DATE && (
        <TextField
          label="Date"
          hint="The key is valid until the end of this day, at most a year from now."
          type="date"
          required
          min={dayAfter(1)}
          max={dayAfter(MAX_DAYS - 1)}
          value={expiry.date}
          onInput={(date) => onExpiry({ ...expiry, date })}
        />
      )}
    </>
  );
}

/** The time from now, as a duration in proto3 JSON. */
function lifetimeOf({ choice, date }: Expiry): string {
  const days = choice === ON_A_DATE ? daysUntil(endOf(date)) : Number(choice);
  return daysToDuration(Math.min(days, MAX_DAYS));
}

/** A later day by this computer's clock, such as `2026-11-21`. */
function dayAfter(days: number): string {
  const date = new Date();
  date.setDate(date.getDate() + days);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function endOf(date: string): string {
  return new Date(`${date}T23:59:59`).toISOString();
}

const OVERLAPS = [
  ["3600s", "For one hour"],
  ["86400s", "For one day"],
  ["604800s", "For seven days"],
  ["0s", "Not at all: it ends now"],
] as const;
const DEFAULT_OVERLAP = "86400s";

type RotateKeyDialogProps = { readonly replaced: Key } & DialogProps<CreateKeyResponse>;

export function RotateKeyDialog({ replaced: { name, prefix }, ...props }: RotateKeyDialogProps) {
  const [overlap, setOverlap] = useState(DEFAULT_OVERLAP);
  const act = () => call("auth/Keys/Rotate", { prefix, overlap });
  return (
    <FormDialog {...props} title={`Rotate ${name}`} action="Rotate key" act={act}>
      <p>
        You get a new key with the same name, limits and lifetime. The old one, <code>{prefix}…</code>, stays valid for
        a while, so that you can replace it without a break.
      </p>
      <SelectField label="The old key stays valid" options={OVERLAPS} value={overlap} onInput={setOverlap} />
    </FormDialog>
  );
}

export function RevokeKeyDialog({ revoked, ...props }: { readonly revoked: Key } & DialogProps) {
  const { name, prefix, lastUsed } = revoked;
  return (
    <ConfirmDialog
      {...props}
      title="Revoke a key"
      name={name}
      what="the key’s name"
      action="Revoke key"
      act={() => call("auth/Keys/Revoke", { prefix })}
      done={`Key ${name} is revoked`}
    >
      <p>
        Calls with <code>{prefix}…</code> are refused at once, everywhere.{" "}
        {lastUsed ? (
          <>
            It was last used <Moment at={lastUsed} relative />.
          </>
        ) : (
          "It has never been used."
        )}
      </p>
    </ConfirmDialog>
  );
}

/** An endpoint that every fresh installation has, to try a key. */
const EXAMPLE = "service:helloworld:Helloworld.Call";

/** Shows the secret of a new key, and how to try it. */
export function CreatedKeyDialog({
  created: { key, secret },
  onClose,
}: {
  readonly created: CreateKeyResponse;
  readonly onClose: () => void;
}) {
  const coversExample =
    key.resources.length === 0 || key.resources.some((pattern) => coveredBy(pattern, [EXAMPLE]).length > 0);
  return (
    <SecretDialog title={`Key ${key.name}`} secret={secret} what="the key" onClose={onClose}>
      <p>
        It expires <Moment at={key.expires} />.{coversExample && " To try it:"}
      </p>
      {coversExample && <Example secret={secret} />}
    </SecretDialog>
  );
}

function Example({ secret }: Pick<CreateKeyResponse, "secret">) {
  const command = [
    `curl ${location.origin}/v1/helloworld/Call`,
    `-H 'Authorization: Bearer ${secret}'`,
    "-H 'Content-Type: application/json'",
    `-d '{"name":"Ada"}'`,
  ].join(" \\\n  ");
  return (
    <div class="secret">
      <CopyButton text={command} what="the command" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus. */}
      <pre tabIndex={0}>{command}</pre>
    </div>
  );
}
