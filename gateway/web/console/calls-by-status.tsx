/** Calls over time by status: a chart, and the same numbers as a table. */
import { useState } from "preact/hooks";
import type { Calls, ListUsageResponse } from "../../../src/api/types.js";
import { type Column, Table } from "../ui/table.js";
import { Chart, type Range } from "./chart.js";

const HOUR = 3600;
const DAY = 24 * HOUR;

interface StatusClass {
  readonly title: string;
  /** A class of styles/usage.css. */
  readonly look: string;
  readonly of: (calls: Calls) => number;
}

/** From the bottom of a bar to its top. */
export const STATUS_CLASSES: readonly StatusClass[] = [
  { title: "OK", look: "look-2xx", of: (calls) => Number(calls.ok) },
  { title: "400", look: "look-400", of: (calls) => Number(calls.badRequest) },
  { title: "401", look: "look-401", of: (calls) => Number(calls.unauthorized) },
  { title: "403", look: "look-403", of: (calls) => Number(calls.forbidden) },
  { title: "404", look: "look-404", of: (calls) => Number(calls.notFound) },
  { title: "429", look: "look-429", of: (calls) => Number(calls.tooManyRequests) },
  { title: "other 4xx", look: "look-404", of: (calls) => Number(calls.otherClientErrors) },
  { title: "5xx", look: "look-5xx", of: (calls) => Number(calls.serverErrors) },
];

interface CallsByStatusProps {
  readonly usage: Pick<ListUsageResponse, "period" | "periods">;
  /** Called with the time that the visitor chose on the chart. */
  readonly onRange?: (range: { readonly start: string; readonly span: string }) => void;
}

export function CallsByStatus({ usage: { period, periods }, onRange }: CallsByStatusProps) {
  const [isOpen, setOpen] = useState(false);
  const names = periods.map(({ start }) => nameOf(start, period));
  const total = periods.reduce((sum, { calls }) => sum + Number(calls.total), 0);
  const classes = STATUS_CLASSES.filter(({ of }, index) => index === 0 || periods.some(({ calls }) => of(calls) > 0));
  const choose = ({ from, to }: Range) => {
    const start = periods[from]!.start;
    const seconds = (to - from + 1) * Number.parseInt(period, 10);
    onRange?.({ start, span: `${seconds}s` });
  };
  return (
    <>
      <Chart
        label={`${whole(total)} calls by status`}
        kind="bars"
        periods={names}
        show={short}
        series={classes.map(({ title, look, of }) => ({
          ...{ title, look },
          values: periods.map(({ calls }) => of(calls)),
        }))}
        onSelect={onRange && choose}
      />
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>The chart as a table</summary>
        {isOpen && (
          <Table
            caption="Calls by time, newest first"
            columns={[{ title: "From", cell: ({ name }) => name }, ...CALL_COLUMNS] as readonly Column<NamedCalls>[]}
            rows={periods
              .map(({ calls }, index) => ({ name: names[index]!, calls }))
              .filter(({ calls }) => Number(calls.total) > 0)
              .reverse()}
            rowKey={({ name }) => name}
          />
        )}
      </details>
    </>
  );
}

interface NamedCalls {
  readonly name: string;
  readonly calls: Calls;
}

/** The numbers of a row. */
export const CALL_COLUMNS: readonly Column<{ readonly calls: Calls }>[] = [
  { title: "Calls", cell: ({ calls }) => whole(calls.total), numeric: true },
  ...STATUS_CLASSES.map(({ title, of }) => ({
    title,
    cell: ({ calls }: { readonly calls: Calls }) => whole(of(calls)),
    numeric: true,
  })),
  { title: "Median", cell: ({ calls }) => milliseconds(calls.medianMs), numeric: true },
  { title: "95th percentile", cell: ({ calls }) => milliseconds(calls.p95Ms), numeric: true },
];

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  ...{ month: "short", day: "numeric" },
  ...{ hour: "numeric", minute: "2-digit" },
});
// Days are in UTC, as the authority counts them.
const DATE = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

/** @param period a duration in proto3 JSON */
export function nameOf(start: string, period: string): string {
  const seconds = Number.parseInt(period, 10);
  return (seconds < HOUR ? TIME : seconds < DAY ? DAY_AND_TIME : DATE).format(new Date(start));
}

function whole(count: string | number): string {
  return Number(count).toLocaleString();
}

const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

function short(count: number): string {
  return SHORT.format(count);
}

export function milliseconds(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toLocaleString(undefined, { maximumFractionDigits: 1 })} s`;
  return `${ms.toLocaleString(undefined, { maximumFractionDigits: ms < 10 ? 2 : 0 })} ms`;
}
