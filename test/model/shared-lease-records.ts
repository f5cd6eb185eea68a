/**
 * Lease records on Postgres, which all authorities of an installation share
 * (services/auth/log/leases/shared-lease-records.ts and reports.ts). The value of a record is its
 * span and a counter. Each pong renews the record by a committed write. After a failover a process
 * may read from the demoted primary, until a write by the process has resolved at the new one. A
 * demoted primary resolves no write.
 */
import { authorityOf, type ClaimRules, isSettledHere, spanOf } from "./authority.js";
import type { Steps } from "./setting.js";
import type { Change, Content, History, State, Stream } from "./state.js";

export const sharedLeaseRecords: ClaimRules = {
  hold(steps, index, at) {
    const { own } = authorityOf(steps.state, index);
    const row = `c${own}`;
    const renews = steps.has("a claim is renewed by a write before each pong");
    const next = (label: string, value?: string): void =>
      steps.add(`authority ${index} ${label}`, (next) => {
        const authority = authorityOf(next, index);
        if (value !== undefined) {
          if (authority.own === "" || !(row in next.store.rows)) authority.own = `${next.claims++}`;
          next.store.rows[`c${authority.own}`] = value;
          authority.fenced = true;
        }
        (next.streams[at] as Stream).response = "held";
      });
    const value = steps.state.store.rows[row];
    if (!renews && contents(steps, index).some(({ rows }) => row in rows)) next("reads its claim");
    else if (!steps.has("a renewal under way is not shared") && isHeld(steps.state, index, at))
      next("shares a renewal made before the ping came");
    else if (value === undefined) next("writes a claim", `${spanOf(authorityOf(steps.state, index), steps)}/0`);
    else
      next(
        "renews its claim",
        value.replace(/\d+$/, (count) => `${Number(count) + 1}`),
      );
  },

  settle(steps, index, change) {
    if (change.phase === "read") readLeaseRecords(steps, index);
    if (change.phase === "wait") for (const row of change.rows) stopWaiting(steps, index, change, row);
  },

  isSettled: ({ phase, rows }) => phase === "wait" && rows.length === 0,

  tidy(steps, index) {
    report(steps, index);
    const { known, values, own } = authorityOf(steps.state, index);
    for (const [id, left] of Object.entries(known)) {
      const value = steps.state.store.rows[`c${id}`];
      if (value === undefined || id === own) continue;
      if (left > 0 && steps.has("only a claim that did not change for its span is deleted")) continue;
      if (value !== values[id] && steps.has("a deletion compares the claim's value")) continue;
      steps.add(`authority ${index} deletes claim ${id}`, (next) => {
        delete next.store.rows[`c${id}`];
        delete next.store.rows[`a${id}`];
        delete authorityOf(next, index).known[id];
        authorityOf(next, index).fenced = true;
      });
    }
  },

  withdraw(next, index, left) {
    const { own } = authorityOf(next, index);
    const value = next.store.rows[`c${own}`];
    if (value === undefined) return;
    if (left > 0) next.store.rows[`c${own}`] = `${left}/${value.split("/")[1]}x`;
    else delete next.store.rows[`c${own}`];
  },

  readings(state, index, steps) {
    const { folded } = authorityOf(state, index);
    const checks = steps.has("a history other than the own one is refused");
    return contents(steps, index).flatMap(({ log }, server) => {
      const how = server === 0 ? "to its end" : "at the demoted primary";
      if (log.startsWith(folded)) return [[how, log] as const];
      return checks ? [] : [[how, folded + log.slice(folded.length)] as const];
    });
  },
};

/**
 * The servers that a read may come from: the store, and a demoted primary until a write has
 * resolved at the new one.
 */
export function contents(steps: Steps, index: number): Content[] {
  const { store, demoted } = steps.state;
  const isFenced = authorityOf(steps.state, index).fenced && steps.has("a reading sees what a write before it saw");
  return demoted === undefined || isFenced ? [store] : [store, demoted];
}

function isHeld(state: State, index: number, at: number): boolean {
  return state.streams.some(
    ({ authority, response }, other) => other !== at && authority === index && response === "held",
  );
}

/** The read of the lease records after the commit. */
function readLeaseRecords(steps: Steps, index: number): void {
  for (const [server, { rows }] of contents(steps, index).entries()) {
    const where = server === 0 ? "" : " at the demoted primary";
    steps.add(`authority ${index} reads the claims${where}`, (next) => {
      const { own, known, values, change } = authorityOf(next, index);
      if (change === undefined) return;
      for (const [row, value] of Object.entries(rows)) {
        const id = row.slice(1);
        if (!row.startsWith("c") || id === own) continue;
        const isCounted =
          id in known && (values[id] === value || !steps.has("the span counts from the claim's present value"));
        const states = steps.has("a claim states the span of its leases");
        if (!isCounted) known[id] = states ? Number(value.split("/")[0]) : spanOf(authorityOf(next, index), steps);
        values[id] = value;
        change.rows.push(id);
      }
      const isEarly = change.entry !== "" && !steps.has("claims are read after the commit");
      change.phase = isEarly ? "commit" : "wait";
    });
  }
}

/** The reasons for which an authority stops waiting for a lease record. */
function stopWaiting(steps: Steps, index: number, { revision }: Change, id: string): void {
  const { known, folded } = authorityOf(steps.state, index);
  const stop = (why: string): void => {
    steps.add(`authority ${index} waits no more for claim ${id}: ${why}`, (next) => {
      const { change } = authorityOf(next, index);
      if (change !== undefined) change.rows = change.rows.filter((other) => other !== id);
    });
  };
  if ((known[id] ?? 0) === 0) stop("its span has passed");
  for (const { rows } of contents(steps, index)) {
    if (!(`c${id}` in rows)) stop("it is gone");
    const reported = rows[`a${id}`];
    if (reported === undefined || reported.length < revision) continue;
    if (folded.startsWith(reported) || !steps.has("a report names the history by a checksum"))
      stop("all of its guards have applied the change");
  }
}

/**
 * Reports: every guard has applied the history of its authority, or every lease granted before that
 * has ended.
 */
function report(steps: Steps, index: number): void {
  const { own, folded, since } = authorityOf(steps.state, index);
  const waits = steps.has("a report waits for every guard of its authority");
  if (own === "" || folded === "" || steps.state.store.rows[`a${own}`] === folded) return;
  if (waits && !isSettledHere(steps.state, index, { revision: folded.length, left: since })) return;
  steps.add(`authority ${index} reports revision ${folded.length} (${folded})`, (next) => {
    next.store.rows[`a${own}`] = folded;
    authorityOf(next, index).fenced = true;
  });
}

/**
 * The primary is demoted, and still responds to reads. It may show a change that the new one lacks.
 */
export function failOver(steps: Steps): void {
  if (steps.state.demoted !== undefined) return;
  const demote = (next: State, ghost: History): void => {
    next.demoted = { log: next.store.log + ghost, rows: { ...next.store.rows } };
    for (const authority of next.authorities) authority.fenced = false;
  };
  steps.event("failover", "the store's primary is demoted, and still answers readings", (next) => demote(next, ""));
  if ((steps.state.budget.ghost ?? 0) === 0) return;
  steps.event(
    "failover",
    "the store's primary is demoted, and shows change g, which was never acknowledged",
    (next) => {
      next.budget.ghost = 0;
      demote(next, "g");
    },
  );
}
