import { useState } from "preact/hooks";
import type { CreateKeyResponse } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { Field } from "../ui/field.js";
import { FormDialog } from "./form-dialog.js";
import { NameField } from "./name-field.js";
import { problemOf } from "./pattern.js";
import { daysToDuration, daysUntil } from "./time.js";

const PRESETS = [7, 30, 60, 90];
const DEFAULT_DAYS = "90";
const ON_A_DATE = "date";
const MAX_DAYS = 365;

interface CreateKeyDialogProps {
  readonly onClose: () => void;
  readonly onDone: (made: CreateKeyResponse) => void;
}

export function CreateKeyDialog({ onClose, onDone }: CreateKeyDialogProps) {
  const [name, setName] = useState("");
  const [expiry, setExpiry] = useState(DEFAULT_DAYS);
  const [date, setDate] = useState(dayAfter(30));
  const [limits, setLimits] = useState("");
  const resources = limits.split(/\s+/).filter((line) => line !== "");
  const problem = resources.map(problemOf).find((one) => one !== undefined);
  const act = async () => {
    if (problem !== undefined) return;
    const days = expiry === ON_A_DATE ? daysUntil(endOf(date)) : Number(expiry);
    const lifetime = daysToDuration(Math.min(days, MAX_DAYS));
    onDone(await call("auth/Keys/Create", { name: name.trim(), lifetime, resources }));
  };
  return (
    <FormDialog title="New API key" action="Make key" act={act} onClose={onClose}>
      <NameField
        label="Name"
        hint="What uses it, such as “nightly backup”. You will know it by this."
        required
        maxLength={100}
        value={name}
        onInput={setName}
      />
      <Field label="Expires">
        {(control) => (
          <select {...control} value={expiry} onChange={({ currentTarget }) => setExpiry(currentTarget.value)}>
            {PRESETS.map((days) => (
              <option key={days} value={days}>
                In {days} days
              </option>
            ))}
            <option value={ON_A_DATE}>On a date</option>
          </select>
        )}
      </Field>
      {expiry === ON_A_DATE && (
        <Field label="Date" hint="The key is good until the end of that day, at most a year from now.">
          {(control) => (
            <input
              {...control}
              type="date"
              required
              min={dayAfter(1)}
              max={dayAfter(MAX_DAYS - 1)}
              value={date}
              onInput={({ currentTarget }) => setDate(currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Field
        label="Limited to"
        hint={
          <>
            Patterns of resources, one a line, such as <code>service:helloworld:*</code>. Left empty, the key may call
            all that its account may.
          </>
        }
        error={problem}
      >
        {(control) => (
          <textarea
            {...control}
            rows={2}
            value={limits}
            onInput={({ currentTarget }) => setLimits(currentTarget.value)}
            autocapitalize="none"
            spellcheck={false}
          />
        )}
      </Field>
    </FormDialog>
  );
}

/** `2026-11-21`, so many days after today, by the clock here. */
function dayAfter(days: number): string {
  const date = new Date();
  date.setDate(date.getDate() + days);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function endOf(date: string): string {
  return new Date(`${date}T23:59:59`).toISOString();
}
