/** The page of the audit trail: who changed what, newest first. The address has the filter. */
import { useState } from "preact/hooks";
import type { AuditRecord, ListAuditRequest } from "../../../src/api/types.js";
import { useLoad, useSubmit } from "../state/load.js";
import { replaceAddress, useQuery } from "../state/router.js";
import { Button } from "../ui/button.js";
import { SelectField, TextField } from "../ui/field.js";
import { ErrorNotice } from "../ui/notice.js";
import { saveFile } from "../ui/save-file.js";
import { announce } from "../ui/status.js";
import { type Column, Table } from "../ui/table.js";
import { toCsv, toJsonLines } from "./audit-export.js";
import { list } from "./authority.js";
import { Loaded, PageHead } from "./page-frame.js";
import { counted } from "./sign-in-words.js";

/** Records that a request of the page asks for, and of an export. */
const PAGE = 100;
const EXPORT_PAGE = 1_000;
/** Maximum records of an export, which are in memory. */
const MAX_EXPORTED = 100_000;
const ZONES = [
  ["local", `Local time (${Intl.DateTimeFormat().resolvedOptions().timeZone})`],
  ["utc", "UTC"],
] as const;

type Filter = Pick<ListAuditRequest, "filter" | "actor" | "action" | "from" | "until">;

export function AuditPage() {
  const query = useQuery();
  const isUtc = query.get("zone") === "utc";
  const choose = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value === "" || value === "local") next.delete(name);
    else next.set(name, value);
    const text = next.toString();
    replaceAddress(`/console/audit${text && `?${text}`}`);
  };
  const filter = filterOf(query, isUtc);
  const latest = useLoad((signal) => list.audit({ ...filter, limit: PAGE }, signal), [JSON.stringify(filter)]);
  const field = (name: string) => ({
    value: query.get(name) ?? "",
    onInput: (value: string) => choose(name, value),
  });
  return (
    <>
      <PageHead title="Audit trail" lead="Every change in this namespace, by whom and when. Newest first.">
        <Button onClick={latest.reload} busy={latest.busy}>
          Reload
        </Button>
        <ExportButton filter={filter} format="csv" />
        <ExportButton filter={filter} format="jsonl" />
      </PageHead>
      <div class="filters wide">
        <TextField label="Search" type="search" maxLength={256} {...field("filter")} />
        <TextField label="Account" {...field("account")} />
        <TextField label="Action" placeholder="rule created" {...field("action")} />
        <TextField label="From" type="date" {...field("from")} />
        <TextField label="Until, with this day" type="date" {...field("until")} />
        <SelectField
          label="Time zone"
          options={ZONES}
          value={isUtc ? "utc" : "local"}
          onInput={(zone) => choose("zone", zone)}
        />
      </div>
      <Loaded loading={latest} what="the changes">
        {({ records, nextBefore }) => (
          <Records
            key={`${JSON.stringify(filter)} ${records[0]?.revision}`}
            {...{ filter, isUtc, latest: records, next: nextBefore }}
          />
        )}
      </Loaded>
    </>
  );
}

/** Days in the query of the address begin and end in the zone that is shown. */
function filterOf(query: URLSearchParams, isUtc: boolean): Filter {
  const [from, until] = [query.get("from"), query.get("until")];
  return {
    filter: query.get("filter") ?? "",
    actor: query.get("account") ?? "",
    action: (query.get("action") ?? "").toLowerCase(),
    ...(from && { from: startOf(from, 0, isUtc) }),
    ...(until && { until: startOf(until, 1, isUtc) }),
  };
}

/**
 * The start of a day, some days later, as a timestamp in proto3 JSON. Of an address that names no
 * day, the text as it is: the authority says what is wrong with it. @param day `2026-11-24`
 */
function startOf(day: string, later: number, isUtc: boolean): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  const start = isUtc ? new Date(Date.UTC(year, month - 1, date + later)) : new Date(year, month - 1, date + later);
  return Number.isNaN(start.getTime()) ? day : start.toISOString();
}

interface RecordsProps {
  readonly filter: Filter;
  readonly isUtc: boolean;
  readonly latest: readonly AuditRecord[];
  /** The position of the next records; `0` at the end. */
  readonly next: string;
}

function Records({ filter, isUtc, latest, next: first }: RecordsProps) {
  const [older, setOlder] = useState<readonly AuditRecord[]>([]);
  const [next, setNext] = useState(first);
  const records = [...latest, ...older];
  const { busy, error, submit } = useSubmit(async () => {
    const page = await list.audit({ ...filter, before: next, limit: PAGE });
    setOlder([...older, ...page.records]);
    setNext(page.nextBefore);
  });
  return (
    <>
      <Table
        caption="Changes, newest first"
        columns={isUtc ? UTC_COLUMNS : LOCAL_COLUMNS}
        rows={records}
        rowKey={({ revision, action, subject, actor }) => `${revision} ${action} ${subject} ${actor}`}
      />
      {error && <ErrorNotice error={error} />}
      <p class="actions">
        {next === "0" ? (
          <span class="hint">{records.length === 0 ? "No record matches." : "This is all that is kept."}</span>
        ) : (
          <Button onClick={submit} busy={busy}>
            Show older ones
          </Button>
        )}
      </p>
    </>
  );
}

function ExportButton({ filter, format }: { readonly filter: Filter; readonly format: "csv" | "jsonl" }) {
  const { busy, error, submit } = useSubmit(async () => {
    const records: AuditRecord[] = [];
    let before = "0";
    do {
      const page = await list.audit({ ...filter, before, limit: EXPORT_PAGE });
      records.push(...page.records);
      before = page.nextBefore;
    } while (before !== "0" && records.length < MAX_EXPORTED);
    const [type, text] = format === "csv" ? ["text/csv", toCsv(records)] : ["application/jsonl", toJsonLines(records)];
    saveFile(`audit.${format}`, new Blob([text], { type }));
    const rest = before === "0" ? "" : "; older ones were left out";
    announce(`Exported ${counted(records.length, "record")}${rest}`);
  });
  return (
    <>
      <Button onClick={submit} busy={busy}>
        {format === "csv" ? "Export CSV" : "Export JSON lines"}
      </Button>
      {error && <ErrorNotice error={error} />}
    </>
  );
}

const WITH_SECONDS = { dateStyle: "medium", timeStyle: "long" } as const;
const LOCAL_COLUMNS = columnsOf(new Intl.DateTimeFormat(undefined, WITH_SECONDS));
const UTC_COLUMNS = columnsOf(new Intl.DateTimeFormat(undefined, { ...WITH_SECONDS, timeZone: "UTC" }));

function columnsOf(format: Intl.DateTimeFormat): readonly Column<AuditRecord>[] {
  return [
    { title: "What", cell: ({ action }) => action.charAt(0).toUpperCase() + action.slice(1) },
    { title: "Of what", cell: ({ subject }) => subject },
    { title: "By whom", cell: ({ actor }) => actor },
    { title: "With", cell: ({ key }) => key },
    { title: "From", cell: ({ address }) => address },
    { title: "Request", cell: ({ requestId }) => requestId },
    { title: "When", cell: ({ time }) => <time dateTime={time}>{format.format(new Date(time))}</time> },
    { title: "Revision", cell: ({ revision }) => revision, numeric: true },
  ];
}
