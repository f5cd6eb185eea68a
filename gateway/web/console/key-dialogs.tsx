/** Dialogs that create, rotate and revoke an API key, and the one that shows a new key's secret. */
import { useState } from "preact/hooks";
import type { CreateKeyResponse, Key } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { CopyButton } from "../ui/copy-button.js";
import { Field, NameField } from "../ui/field.js";
import { ConfirmDialog } from "./confirm-dialog.js";
import { FormDialog } from "./form-dialog.js";
import { coveredBy, problemOf } from "./pattern.js";
import { SecretDialog } from "./secret-dialog.js";
import { daysToDuration, daysUntil, Moment } from "./time.js";

const PRESETS = [7, 30, 60, 90];
const DEFAULT_DAYS = "90";
const ON_A_DATE = "date";
const MAX_DAYS = 365;

interface CreateKeyDialogProps {
  readonly onClose: () => void;
  readonly onDone: (created: CreateKeyResponse) => void;
}

export function CreateKeyDialog({ onClose, onDone }: CreateKeyDialogProps) {
  const [name, setName] = useState("");
  const [expiry, setExpiry] = useState<Expiry>({ choice: DEFAULT_DAYS, date: dayAfter(30) });
  const [patterns, setPatterns] = useState("");
  const resources = patterns.split(/\s+/).filter((line) => line !== "");
  const problem = resources.map(problemOf).find((one) => one !== undefined);
  const act = async () => {
    if (problem !== undefined) return;
    onDone(await call("auth/Keys/Create", { name: name.trim(), lifetime: lifetimeOf(expiry), resources }));
  };
  return (
    <FormDialog title="New API key" action="Create key" act={act} onClose={onClose}>
      <NameField
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
  /** As an input of the type `date` has it. */
  readonly date: string;
}

interface ExpiryFieldsProps {
  readonly expiry: Expiry;
  readonly onExpiry: (expiry: Expiry) => void;
}

function ExpiryFields({ expiry, onExpiry }: ExpiryFieldsProps) {
  return (
    <>
      <Field label="Expires">
        {(control) => (
          <select
            {...control}
            value={expiry.choice}
            onChange={({ currentTarget }) => onExpiry({ ...expiry, choice: currentTarget.value })}
          >
            {PRESETS.map((days) => (
              <option key={days} value={days}>
                In {days} days
              </option>
            ))}
            <option value={ON_A_DATE}>On a date</option>
          </select>
        )}
      </Field>
      {expiry.choice === ON_A_DATE && (
        <Field label="Date" hint="The key is valid until the end of this day, at most a year from now.">
          {(control) => (
            <input
              {...control}
              type="date"
              required
              min={dayAfter(1)}
              max={dayAfter(MAX_DAYS - 1)}
              value={expiry.date}
              onInput={({ currentTarget }) => onExpiry({ ...expiry, date: currentTarget.value })}
            />
          )}
        </Field>
      )}
    </>
  );
}

/** How long from now, as proto3 JSON writes a duration. */
function lifetimeOf({ choice, date }: Expiry): string {
  const days = choice === ON_A_DATE ? daysUntil(endOf(date)) : Number(choice);
  return daysToDuration(Math.min(days, MAX_DAYS));
}

/** A day after today by this computer's clock, such as `2026-11-21`. */
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
  { overlap: "3600s", title: "For one hour" },
  { overlap: "86400s", title: "For one day" },
  { overlap: "604800s", title: "For seven days" },
  { overlap: "0s", title: "Not at all: it ends now" },
];
const DEFAULT_OVERLAP = "86400s";

interface RotateKeyDialogProps {
  readonly replaced: Key;
  readonly onClose: () => void;
  readonly onDone: (created: CreateKeyResponse) => void;
}

export function RotateKeyDialog({ replaced: { name, prefix }, onClose, onDone }: RotateKeyDialogProps) {
  const [overlap, setOverlap] = useState(DEFAULT_OVERLAP);
  const act = async () => {
    onDone(await call("auth/Keys/Rotate", { prefix, overlap }));
  };
  return (
    <FormDialog title={`Rotate ${name}`} action="Rotate key" act={act} onClose={onClose}>
      <p>
        You get a new key with the same name, limits and lifetime. The old one, <code>{prefix}…</code>, stays valid for
        a while, so that you can replace it without a break.
      </p>
      <Field label="The old key stays valid">
        {(control) => (
          <select {...control} value={overlap} onChange={({ currentTarget }) => setOverlap(currentTarget.value)}>
            {OVERLAPS.map((one) => (
              <option key={one.overlap} value={one.overlap}>
                {one.title}
              </option>
            ))}
          </select>
        )}
      </Field>
    </FormDialog>
  );
}

interface RevokeKeyDialogProps {
  readonly revoked: Key;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RevokeKeyDialog({ revoked: { name, prefix, lastUsed }, onClose, onDone }: RevokeKeyDialogProps) {
  return (
    <ConfirmDialog
      title="Revoke a key"
      name={name}
      what="the key’s name"
      action="Revoke key"
      act={() => call("auth/Keys/Revoke", { prefix })}
      done={`Key ${name} is revoked`}
      onClose={onClose}
      onDone={() => onDone()}
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

/** An endpoint that every fresh installation has, to try a key with. */
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
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{command}</pre>
    </div>
  );
}
