/**
 * The usage page: how often endpoints are called, by whom, with which status, and how long calls
 * take. The query of the address has all that was chosen.
 */

import type { ComponentChildren } from "preact";
import type { Calls, ListUsageResponse } from "../../../src/api/types.js";
import { isAgentScope } from "../../../src/contract/scope.js";
import { useLoad, useRefresh } from "../state/load.js";
import { replaceAddress, useQuery } from "../state/router.js";
import { Button } from "../ui/button.js";
import { SelectField } from "../ui/field.js";
import { EmptyState } from "../ui/notice.js";
import { Pattern } from "../ui/pattern.js";
import { type Column, Table } from "../ui/table.js";
import { Tabs } from "../ui/tabs.js";
import { list, listResources } from "./authority.js";
import { CALL_COLUMNS, CallsByStatus, milliseconds, nameOf } from "./calls-by-status.js";
import { Chart, ChartCard } from "./chart.js";
import { Loaded, PageHead } from "./page-frame.js";
import { UsageByLimit } from "./usage-limits.js";

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
const ADDRESS = "/console/usage";
const PUBLIC = "<public>";

/** What the query of the address may have. */
type Choice = "span" | "start" | "service" | "endpoint" | "account" | "key" | "by";

function useChoices() {
  const query = useQuery();
  const of = (name: Choice) => query.get(name) ?? "";
  const choose = (changes: Partial<Record<Choice, string>>) => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === "") next.delete(name);
      else next.set(name, value);
    }
    const text = next.toString();
    replaceAddress(text === "" ? ADDRESS : `${ADDRESS}?${text}`);
  };
  return { of, choose };
}

export function UsagePage() {
  const { of, choose } = useChoices();
  const [start, service, endpoint, account, key] = [
    ...[of("start"), of("service"), of("endpoint")],
    ...[of("account"), of("key")],
  ] as [string, string, string, string, string];
  const span = of("span") || SPANS[0][0];
  const request = { span, service, endpoint, account, key, ...(start !== "" && { start }) };
  const usage = useLoad((signal) => list.usage(request, signal), [JSON.stringify(request)]);
  const { value: resources = [] } = useLoad(listResources, []);
  const names = [...new Set(resources.map((resource) => resource.split(":")[1] ?? ""))];
  const services = [["", "All services"], ...names.map((name) => [name, name]), ...OWN] as [string, string][];
  // A time with a start of its own is over, or will be.
  useRefresh(usage.reload, start === "" ? REFRESH_MS : undefined);
  return (
    <>
      <PageHead title="Usage" lead="Calls over HTTP in this namespace. New calls appear within about ten seconds." />
      <Filters {...{ of, choose, span, services }} />
      <Loaded loading={usage} what="the numbers">
        {(value) =>
          value.periods.every(({ calls }) => calls.total === "0") ? (
            <NoCalls />
          ) : (
            <>
              <ChartCard title="Calls">
                <CallsByStatus usage={value} onRange={choose} />
              </ChartCard>
              <TimeChart usage={value} />
              <Breakdown usage={value} by={of("by") || "endpoint"} onBy={(by) => choose({ by })} />
            </>
          )
        }
      </Loaded>
      <UsageByLimit />
    </>
  );
}

interface FiltersProps extends ReturnType<typeof useChoices> {
  readonly span: string;
  readonly services: readonly [value: string, title: string][];
}

function Filters({ of, choose, span, services }: FiltersProps) {
  const [start, endpoint, account, key] = [of("start"), of("endpoint"), of("account"), of("key")];
  const times = start === "" ? SPANS : [["", "The time below"] as const, ...SPANS];
  const only = { service: "", endpoint: "", account: "", key: "" };
  return (
    <>
      <div class="filters">
        <SelectField
          label="Time"
          options={times}
          value={start === "" ? span : ""}
          onInput={(chosen) => chosen !== "" && choose({ span: chosen, start: "" })}
        />
        <SelectField
          label="Service"
          options={services}
          value={of("service")}
          onInput={(chosen) => choose({ ...only, service: chosen })}
        />
      </div>
      {(start || endpoint || account || key) && (
        <p class="chosen">
          {start && <Chosen onRemove={() => choose({ start: "", span: "" })}>{rangeOf(start, span)}</Chosen>}
          {endpoint && <Chosen onRemove={() => choose({ endpoint: "" })}>Endpoint {endpoint}</Chosen>}
          {account && <Chosen onRemove={() => choose(only)}>Account {account}</Chosen>}
          {key && <Chosen onRemove={() => choose(only)}>Key {key}</Chosen>}
        </p>
      )}
    </>
  );
}

function Chosen({ children, onRemove }: { readonly children: ComponentChildren; readonly onRemove: () => void }) {
  return (
    <span>
      {children} <Button onClick={onRemove}>Show all</Button>
    </span>
  );
}

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function rangeOf(start: string, span: string): string {
  const from = new Date(start);
  const to = new Date(from.getTime() + Number.parseInt(span, 10) * 1000);
  // An address may have any text; the authority says what is wrong with it.
  if (Number.isNaN(to.getTime())) return start;
  return `${MOMENT.format(from)} to ${MOMENT.format(to)}`;
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

interface Row {
  readonly id: string;
  readonly name: ComponentChildren;
  /** Where the thing itself is shown. */
  readonly opens: readonly [href: string, title: string] | undefined;
  /** The query by which usage is filtered; undefined for the sum of others. */
  readonly query: string | undefined;
  readonly calls: Calls;
}

const TABS = [
  { id: "service", title: "Services" },
  { id: "endpoint", title: "Endpoints" },
  { id: "account", title: "Accounts" },
  { id: "key", title: "API keys" },
];

function Breakdown({
  usage,
  by,
  onBy,
}: {
  readonly usage: ListUsageResponse;
  readonly by: string;
  readonly onBy: (by: string) => void;
}) {
  const rows = rowsOf(usage, by);
  const title = TABS.find(({ id }) => id === by)?.title ?? "Endpoints";
  return (
    <section class="stack">
      <Tabs label="Calls by" tabs={TABS} selected={by} onSelect={onBy}>
        {rows.length === 0 ? (
          <p class="hint">None. Calls are counted by service, or by account and API key, not by both.</p>
        ) : (
          <div class="scroll-x">
            <Table caption={`${title}, most called first`} columns={COLUMNS} rows={rows} rowKey={({ id }) => id} />
          </div>
        )}
      </Tabs>
    </section>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Name", cell: ({ name }) => name },
  ...CALL_COLUMNS,
  {
    title: "Open",
    cell: ({ opens, query, calls }) => (
      <span class="row-links">
        {query && <a href={`${ADDRESS}?${query}`}>Chart</a>}
        {opens && <a href={opens[0]}>{opens[1]}</a>}
        {query && isRefused(calls) && <a href={`/console/refusals?${query}`}>Refusals</a>}
      </span>
    ),
  },
];

function isRefused({ unauthorized, forbidden, tooManyRequests }: Calls): boolean {
  return Number(unauthorized) + Number(forbidden) + Number(tooManyRequests) > 0;
}

function rowsOf({ endpoints, accounts, keys }: ListUsageResponse, by: string): Row[] {
  const others = "All others, each with few calls";
  const query = (values: Record<string, string>) => new URLSearchParams(values).toString();
  if (by === "account") {
    return accounts.map(({ account, calls }) => ({
      ...{ id: account, calls, name: account === PUBLIC ? "Without a valid token" : account || others },
      opens:
        account && account !== PUBLIC ? [`/console/accounts/${encodeURIComponent(account)}`, "Account"] : undefined,
      query: account ? query({ account }) : undefined,
    }));
  }
  if (by === "key") {
    return keys.map(({ key, account, calls }) => ({
      ...{ id: `${key} ${account}`, calls },
      name: key ? (
        <>
          <code>{key}</code> of {account}
        </>
      ) : (
        others
      ),
      opens: key ? (isAgentScope(key) ? ["/console/apps", "App"] : [`/console/keys/${key}`, "Key"]) : undefined,
      query: key ? query({ key }) : undefined,
    }));
  }
  if (by === "service") return servicesOf(endpoints, others);
  return endpoints.map(({ service, endpoint, calls }) => ({
    ...{ id: `${service}:${endpoint}`, calls, name: service ? <Pattern text={`${service}:${endpoint}`} /> : others },
    opens: service ? [`/explore/${service}/${endpoint}`, "Endpoint"] : undefined,
    query: service ? query({ service, endpoint }) : undefined,
  }));
}

/** Counts of endpoints can be added; their durations cannot. */
const SUMMED = [
  ...(["total", "clientErrors", "serverErrors", "ok", "badRequest", "unauthorized"] as const),
  ...(["forbidden", "notFound", "tooManyRequests", "otherClientErrors"] as const),
];

function servicesOf(endpoints: ListUsageResponse["endpoints"], others: string): Row[] {
  const sums = new Map<string, Calls>();
  for (const { service, calls } of endpoints) {
    const before = sums.get(service);
    const added = SUMMED.map((field) => [field, String(Number(before?.[field] ?? 0) + Number(calls[field]))]);
    const slower = {
      medianMs: Math.max(before?.medianMs ?? 0, calls.medianMs),
      p95Ms: Math.max(before?.p95Ms ?? 0, calls.p95Ms),
    };
    sums.set(service, { ...calls, ...Object.fromEntries(added), ...slower });
  }
  const sorted = [...sums].sort(([, a], [, b]) => Number(b.total) - Number(a.total));
  return sorted.map(([service, calls]) => ({
    ...{ id: service, calls, name: service ? <code>{service}</code> : others },
    opens: service ? [`/explore/${service}`, "Service"] : undefined,
    query: service ? new URLSearchParams({ service }).toString() : undefined,
  }));
}

function TimeChart({ usage: { period, periods } }: { readonly usage: ListUsageResponse }) {
  const time = (field: "medianMs" | "p95Ms") =>
    periods.map(({ calls }) => (Number(calls.total) === 0 ? undefined : calls[field]));
  return (
    <ChartCard title="Response time">
      <Chart
        label="How long calls took: the median and the 95th percentile"
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
