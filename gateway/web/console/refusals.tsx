/** The page of refused calls: who was refused what, and why. */

import { useState } from "preact/hooks";
import type { Refusal, RefusalGroup, Refused, Rule } from "../../../src/api/types.js";
import { isAgentScope } from "../../../src/contract/scope.js";
import { isAdmin } from "../session/session.js";
import { useLoad, useRefresh } from "../state/load.js";
import { replaceAddress, useQuery } from "../state/router.js";
import { Button } from "../ui/button.js";
import { SelectField, TextField } from "../ui/field.js";
import { EmptyState, ErrorNotice } from "../ui/notice.js";
import { type Column, Table } from "../ui/table.js";
import { list } from "./authority.js";
import { pageOfLimit } from "./limit-words.js";
import { type ConsoleProps, Loaded, PageHead } from "./page-frame.js";
import { MAX_PASTED, type Pasted, readPasted, withoutWholeTokens } from "./pasted-refusal.js";
import { allowingRule, Chain, reasonOf, Spark, whoOf } from "./refusal-parts.js";
import { CreateRuleDialog } from "./rule-dialogs.js";

/** How often gateways report, in milliseconds. */
const REFRESH_MS = 5_000;
const ADDRESS = "/console/refusals";
const SPANS = [
  ["3600s", "The last hour"],
  ["21600s", "The last 6 hours"],
  ["86400s", "The last day"],
] as const;
/** By which the list can be narrowed, from links of other pages. */
const FILTERS = ["service", "endpoint", "account", "key"] as const;
const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function RefusalsPage({ session }: ConsoleProps) {
  const [allowed, setAllowed] = useState<Partial<Rule>>();
  const query = useQuery();
  const span = query.get("span") ?? SPANS[0][0];
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const groups = useLoad((signal) => list.refusals({ span, ...filters }, signal), [query.toString()]);
  useRefresh(groups.reload, REFRESH_MS);
  const onAllow = isAdmin(session)
    ? async (refused: Refused) => setAllowed(await allowingRule(refused, list))
    : undefined;
  return (
    <>
      <PageHead
        title="Refusals"
        lead="Calls that were answered with 401, 403 or 429, and why. New ones appear within about five seconds. Gateways remember their last 10,000; a restart loses them."
      />
      <Why onAllow={onAllow} />
      <Filters query={query} span={span} />
      <Loaded loading={groups} what="the refusals">
        {({ groups: rows, moreGroups, since }) => (
          <>
            {rows.length === 0 ? (
              <EmptyState title="No refused calls in this time">
                <p>Since {TIME.format(new Date(since))}, when the authority was started, none is remembered.</p>
              </EmptyState>
            ) : (
              <Groups groups={rows} onAllow={onAllow} />
            )}
            {moreGroups > 0 && <p class="hint">{moreGroups.toLocaleString()} more groups, each with fewer calls.</p>}
          </>
        )}
      </Loaded>
      {allowed && (
        <CreateRuleDialog
          initial={allowed}
          onClose={() => setAllowed(undefined)}
          onDone={() => {
            setAllowed(undefined);
            groups.reload();
          }}
        />
      )}
    </>
  );
}

function Filters({ query, span }: { readonly query: URLSearchParams; readonly span: string }) {
  const chosen = FILTERS.filter((name) => query.has(name)).map((name) => `${name} ${query.get(name)}`);
  const choose = (value: string) => {
    const next = new URLSearchParams(query);
    next.set("span", value);
    replaceAddress(`${ADDRESS}?${next}`);
  };
  return (
    <>
      <div class="filters">
        <SelectField label="Time" options={SPANS} value={span} onInput={choose} />
      </div>
      {chosen.length > 0 && (
        <p class="chosen">
          {chosen.join(", ")} <Button onClick={() => replaceAddress(ADDRESS)}>Show all</Button>
        </p>
      )}
    </>
  );
}

interface Allowing {
  /** Opens the dialog for a rule that would grant the calls; undefined where that is forbidden. */
  readonly onAllow: ((refused: Refused) => Promise<void>) | undefined;
}

function Groups({ groups, onAllow }: { readonly groups: readonly RefusalGroup[] } & Allowing) {
  const [open, setOpen] = useState<string>();
  const columns: Column<RefusalGroup>[] = [
    { title: "Who", cell: ({ refused }) => whoOf(refused) },
    { title: "Calls", cell: ({ count }) => Number(count).toLocaleString(), numeric: true },
    { title: "Endpoint", cell: ({ refused }) => <code>{refused.endpoint || "several"}</code> },
    { title: "Reason", cell: ({ refused }) => `${refused.code || ""} ${reasonOf(refused)}` },
    { title: "Over time", cell: (group) => <Spark values={group.byPeriod.map(Number)} /> },
    {
      title: "Why",
      cell: (group) => {
        const id = nameOf(group);
        return open === id ? (
          <>
            <Chain chain={group.chain} />
            <span class="row-links">
              <Remedy refused={group.refused} onAllow={onAllow} />
              <Button onClick={() => setOpen(undefined)}>Close</Button>
            </span>
          </>
        ) : (
          <Button onClick={() => setOpen(id)}>Why</Button>
        );
      },
    },
  ];
  return (
    <div class="scroll-x">
      <Table caption="Refused calls, most first" columns={columns} rows={groups} rowKey={nameOf} />
    </div>
  );
}

function nameOf({ refused }: RefusalGroup): string {
  return JSON.stringify(refused);
}

/** What can be done about a refusal. */
function Remedy({ refused, onAllow }: { readonly refused: Refused } & Allowing) {
  const [busy, setBusy] = useState(false);
  const { reason, cause } = refused;
  if (isAgentScope(refused.key) && ["EXPIRED", "LIMIT"].includes(reason))
    return <a href="/console/apps">Open the apps</a>;
  if (["EXPIRED", "REVOKED", "LIMIT"].includes(reason)) return <a href="/console/keys">Open the keys</a>;
  if (reason === "CALL_LIMIT" && onAllow !== undefined) return <a href={pageOfLimit(cause)}>Open the limit</a>;
  if (onAllow === undefined || !["NO_RULE", "RULE"].includes(reason)) return null;
  const allow = () => {
    setBusy(true);
    void onAllow(refused).finally(() => setBusy(false));
  };
  return (
    <Button busy={busy} onClick={allow}>
      Allow this
    </Button>
  );
}

/** The box that tells why one call was refused. */
function Why({ onAllow }: Allowing) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState<Pasted>();
  const { value, isCurrent, error, busy } = useLoad((signal) => lookUp(asked, signal), [asked]);
  const problem = asked !== undefined && "problem" in asked ? asked.problem : undefined;
  const input = (given: string) => {
    const safe = withoutWholeTokens(given);
    setText(safe.slice(0, MAX_PASTED));
    // What is pasted is looked up at once.
    const isPasted = safe.length - text.length > 1;
    setAsked(isPasted ? readPasted(safe) : undefined);
  };
  return (
    <section class="card stack" aria-labelledby="why">
      <h2 id="why">Why was a call refused?</h2>
      <form
        class="why"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") setAsked(readPasted(text));
        }}
      >
        <TextField
          label="Request ID, key or answer"
          hint="Paste the X-Request-Id of an answer, the first characters of an API key, or the answer itself. A whole key is cut to its first characters before it is sent."
          error={problem}
          type="search"
          value={text}
          onInput={input}
        />
        <Button type="submit" busy={asked !== undefined && busy}>
          Tell me why
        </Button>
      </form>
      {error && <ErrorNotice error={error} />}
      <div role="status" class="stack">
        {asked !== undefined && problem === undefined && isCurrent && value && (
          <Results found={value} onAllow={onAllow} />
        )}
      </div>
    </section>
  );
}

interface Found {
  readonly refusals: readonly Pick<Refusal, "refused" | "call" | "chain">[];
}

async function lookUp(asked: Pasted | undefined, signal: AbortSignal): Promise<Found | undefined> {
  if (asked === undefined || "problem" in asked) return undefined;
  if (!("service" in asked)) return list.foundRefusals(asked, signal);
  const { groups } = await list.refusals({ span: SPANS.at(-1)![0], ...asked }, signal);
  return { refusals: groups.map(({ refused, last, chain }) => ({ refused, chain, call: { ...NO_CALL, time: last } })) };
}

const NO_CALL = { address: "", requestId: "", key: "" };
const MAX_SHOWN = 10;

function Results({ found: { refusals }, onAllow }: { readonly found: Found } & Allowing) {
  if (refusals.length === 0) {
    return (
      <p>
        No refused call like that is remembered. It may be older than the last restart, too new (wait five seconds), of
        another namespace, or one of very many.
      </p>
    );
  }
  return (
    <>
      {refusals.length > 1 && <p>{refusals.length} refused calls match; the newest first:</p>}
      {refusals.slice(0, MAX_SHOWN).map(({ refused, call, chain }) => (
        <div class="refusal" key={`${call.requestId} ${call.time} ${JSON.stringify(refused)}`}>
          <p>
            <strong>{refused.code}</strong> {whoOf(refused, call.key)} at <code>{refused.endpoint}</code>:{" "}
            <strong>{reasonOf(refused)}</strong>
          </p>
          <Chain chain={chain} />
          <p class="hint">
            {TIME.format(new Date(call.time))}
            {call.address && `, from ${call.address}`}
          </p>
          <Remedy refused={refused} onAllow={onAllow} />
        </div>
      ))}
    </>
  );
}
