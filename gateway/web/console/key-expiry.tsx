/** Step 3 of a new key: until when it is valid. */
import { gatewayTime } from "../http.js";
import { SelectField, TextField } from "../ui/field.js";
import { daysToDuration, daysUntil } from "./time.js";

const DEFAULT_DAYS = "90";
const ON_A_DATE = "date";
const EXPIRIES = [
  ...["7", "30", "60", "90"].map((days) => [days, `In ${days} days`] as const),
  [ON_A_DATE, "On a date"] as const,
];
const MAX_DAYS = 365;

export interface Expiry {
  /** Days, or `date`. */
  readonly choice: string;
  /** The value of an input of type `date`. */
  readonly date: string;
}

export function defaultExpiry(): Expiry {
  return { choice: DEFAULT_DAYS, date: dayAfter(30) };
}

export function ExpiryFields({
  expiry,
  onExpiry,
}: {
  readonly expiry: Expiry;
  readonly onExpiry: (expiry: Expiry) => void;
}) {
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
          error={problemWithExpiry(expiry)}
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

/** Why a key cannot expire then; undefined if it can. */
export function problemWithExpiry({ choice, date }: Expiry): string | undefined {
  if (choice !== ON_A_DATE || date === "") return undefined;
  if (date < dayAfter(1)) return "A key is valid for a day at least. Choose tomorrow or a later day.";
  return date > dayAfter(MAX_DAYS - 1) ? "A key is valid for a year at most. Choose an earlier day." : undefined;
}

/** The time from now, as a duration in proto3 JSON. */
export function lifetimeOf({ choice, date }: Expiry): string {
  const days = choice === ON_A_DATE ? daysUntil(endOf(date)) : Number(choice);
  return daysToDuration(Math.min(days, MAX_DAYS));
}

/** A later day by the gateway's clock, in this computer's time zone, such as `2026-11-21`. */
function dayAfter(days: number): string {
  const date = new Date(gatewayTime());
  date.setDate(date.getDate() + days);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function endOf(date: string): string {
  return new Date(`${date}T23:59:59`).toISOString();
}
