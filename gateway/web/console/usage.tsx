/**
 * The usage page: how often services and endpoints are called, how often calls fail, and how long
 * they take.
 */
import { useEffect, useState } from "preact/hooks";
import type { Calls, ListUsageResponse } from "../../../src/api/types.js";
import { useLoad } from "../state/load.js";
import { SelectField } from "../ui/field.js";
import { EmptyState } from "../ui/notice.js";
import { type Column, Table } from "../ui/table.js";
import { list, listResources } from "./authority.js";
import { Chart, ChartCard } from "./chart.js";
import { Loaded, PageHead } from "./page-frame.js";

const HOUR = 3600;
const DAY = 24 * HOUR;
/** Durations in proto3 JSON. */
const SPANS = [
  [`${HOUR}s`, "The last hour"],
  [`${3 * HOUR}s`, "The last 3 hours"],
  [`${DAY}s`, "The last 24 hours"],
  [`${7 * DAY}s`, "The last 7 days"],
  [`${30 * DAY}s`, "The last 30 days"],
] as const;
/** Portico's own services, which are not part of "All services". */
const OWN = ["auth", "registry"].map((name) => [name, `${name} (Portico’s own)`]);
/** How often gateways report, in milliseconds. */
const REFRESH_MS = 10_000;

export function UsagePage() {
  const [span, setSpan] = useState<string>(SPANS[0][0]);
  const [service, setService] = useState("");
  const usage = useLoad((signal) => list.usage({ span, service }, signal), [span, service]);
  const { value: resources = [] } = useLoad(listResources, []);
  const names = [...new Set(resources.map((resource) => resource.split(":")[1] ?? ""))];
  const services = [["", "All services"], ...names.map((name) => [name, name]), ...OWN] as [string, string][];
  useEffect(() => {
    const timer = setInterval(() => document.hidden || usage.reload(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [usage.reload]);
  return (
    <>
      <PageHead title="Usage" lead="Calls over HTTP in this namespace. New calls appear within about ten seconds." />
      <div class="filters">
        <SelectField label="Time" options={SPANS} value={span} onInput={setSpan} />
        <SelectField label="Service" options={services} value={service} onInput={setService} />
      </div>
      <Loaded loading={usage} what="the numbers">
        {(value) => (value.endpoints.length === 0 ? <NoCalls /> : <Charts usage={value} />)}
      </Loaded>
    </>
  );
}

function NoCalls() {
  const command = `curl '${location.origin}/helloworld/call?name=Ada'`;
  return (
    <EmptyState title="No calls in this time">
      <p>Make one, and it appears here within about ten seconds:</p>
      <p>
        <code>{command}</code>
      </p>
    </EmptyState>
  );
}

function Charts({ usage }: { readonly usage: ListUsageResponse }) {
  return (
    <>
      <CallsChart usage={usage} />
      <TimeChart usage={usage} />
      <section class="stack" aria-labelledby="endpoints">
        <h2 id="endpoints">Endpoints</h2>
        <Table
          caption="Calls by endpoint, most called first"
          columns={ENDPOINT_COLUMNS}
          rows={usage.endpoints}
          rowKey={({ service, endpoint }) => `${service}:${endpoint}`}
        />
      </section>
      <details class="card">
        <summary>The charts as a table</summary>
        <Table
          caption="Calls by time, newest first"
          columns={PERIOD_COLUMNS}
          rows={usage.periods
            .map(({ start, calls }) => ({ name: nameOf(start, usage.period), calls }))
            .filter(({ calls }) => Number(calls.total) > 0)
            .reverse()}
          rowKey={({ name }) => name}
        />
      </details>
    </>
  );
}

function CallsChart({ usage: { period, periods } }: { readonly usage: ListUsageResponse }) {
  const count = (of: (calls: Calls) => number) => periods.map(({ calls }) => of(calls));
  const sum = (field: "total" | "serverErrors") => periods.reduce((sum, { calls }) => sum + Number(calls[field]), 0);
  return (
    <ChartCard title="Calls">
      <Chart
        label={`${sum("total")} calls, of which ${sum("serverErrors")} failed. The table below has the numbers.`}
        kind="bars"
        periods={periods.map(({ start }) => nameOf(start, period))}
        show={short}
        series={[
          { title: "answered", look: "look-good", values: count(responded) },
          { title: "client errors (4xx)", look: "look-warning", values: count((calls) => Number(calls.clientErrors)) },
          { title: "server errors (5xx)", look: "look-bad", values: count((calls) => Number(calls.serverErrors)) },
        ]}
      />
    </ChartCard>
  );
}

function TimeChart({ usage: { period, periods } }: { readonly usage: ListUsageResponse }) {
  const time = (field: "medianMs" | "p95Ms") =>
    periods.map(({ calls }) => (Number(calls.total) === 0 ? undefined : calls[field]));
  return (
    <ChartCard title="Response time">
      <Chart
        label="How long calls took: the median and the 95th percentile. The table below has the numbers."
        kind="lines"
        periods={periods.map(({ start }) => nameOf(start, period))}
        show={milliseconds}
        series={[
          { title: "95th percentile", look: "look-warning", values: time("p95Ms") },
          { title: "median", look: "look-good", values: time("medianMs") },
        ]}
      />
    </ChartCard>
  );
}

const CALL_COLUMNS: readonly Column<{ readonly calls: Calls }>[] = [
  { title: "Calls", cell: ({ calls }) => whole(calls.total), numeric: true },
  { title: "Client errors", cell: ({ calls }) => whole(calls.clientErrors), numeric: true },
  { title: "Server errors", cell: ({ calls }) => whole(calls.serverErrors), numeric: true },
  { title: "Median", cell: ({ calls }) => milliseconds(calls.medianMs), numeric: true },
  { title: "95th percentile", cell: ({ calls }) => milliseconds(calls.p95Ms), numeric: true },
];

const ENDPOINT_COLUMNS: readonly Column<ListUsageResponse["endpoints"][number]>[] = [
  {
    title: "Endpoint",
    cell: ({ service, endpoint }) =>
      service === "" ? (
        "All other endpoints, each seldom called"
      ) : (
        <code>
          {service}:{endpoint}
        </code>
      ),
  },
  ...CALL_COLUMNS,
];

const PERIOD_COLUMNS: readonly Column<{ readonly name: string; readonly calls: Calls }>[] = [
  { title: "From", cell: ({ name }) => name },
  ...CALL_COLUMNS,
];

function responded({ total, clientErrors, serverErrors }: Calls): number {
  return Number(total) - Number(clientErrors) - Number(serverErrors);
}

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit",
});
// Days are in UTC, as the authority counts them.
const DATE = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

/** @param period a duration in proto3 JSON */
function nameOf(start: string, period: string): string {
  const seconds = Number.parseInt(period, 10);
  return (seconds < HOUR ? TIME : seconds < DAY ? DAY_AND_TIME : DATE).format(new Date(start));
}

function whole(count: string): string {
  return Number(count).toLocaleString();
}

const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

function short(count: number): string {
  return SHORT.format(count);
}

function milliseconds(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toLocaleString(undefined, { maximumFractionDigits: 1 })} s`;
  return `${ms.toLocaleString(undefined, { maximumFractionDigits: ms < 10 ? 2 : 0 })} ms`;
}
