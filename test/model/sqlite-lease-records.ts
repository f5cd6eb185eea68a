/**
 * Lease records on SQLite (services/auth/log/leases/lease-records.ts): written once, and retired by
 * other authorities. The store is one file, so every read is current.
 */
import { authorityOf, type ClaimRules, spanOf } from "./authority.js";
import type { Steps } from "./setting.js";
import type { Change, State, Stream } from "./state.js";

export const sqliteLeaseRecords: ClaimRules = {
  hold(steps, index, at) {
    const { own } = authorityOf(steps.state, index);
    const stream = steps.state.streams[at] as Stream;
    const isThere = own !== "" && `c${own}` in steps.state.store.rows;
    const held = isThere || (own !== "" && !steps.has("the claim is read for each pong"));
    if (stream.response === "ping") {
      // LeaseRecords.hold
      steps.add(`authority ${index} ${held ? "finds its claim" : "finds no claim of its own"}`, (next) => {
        (next.streams[at] as Stream).response = held ? "held" : "create";
      });
      return;
    }
    steps.add(`authority ${index} writes a claim`, (next) => {
      const authority = authorityOf(next, index);
      const id = authority.own !== "" && !steps.has("an id is used once") ? authority.own : `${next.claims++}`;
      authority.own = id;
      next.store.rows[`c${id}`] = `${spanOf(authority, steps)}`;
      (next.streams[at] as Stream).response = "held";
    });
  },

  settle(steps, index, change) {
    if (change.phase === "read") read(steps, index);
    if (change.phase === "retire") retire(steps, index, change);
  },

  isSettled: ({ phase, ends }) => phase === "wait" && ends === 0,

  // LocalLeaseRecords.#tidy
  tidy(steps, index) {
    for (const [id, left] of Object.entries(authorityOf(steps.state, index).known)) {
      if (left > 0 && steps.has("a retired row stays for its span")) continue;
      if (!(`r${id}` in steps.state.store.rows)) continue;
      steps.add(`authority ${index} deletes the retired row of claim ${id}`, (next) => {
        delete next.store.rows[`r${id}`];
        delete authorityOf(next, index).known[id];
      });
    }
  },

  withdraw(next, index, left) {
    const { own } = authorityOf(next, index);
    if (own === "") return;
    if (left > 0) next.store.rows[`r${own}`] = `${left}`;
    delete next.store.rows[`c${own}`];
  },

  readings: ({ store }) => [["to its end", store.log]],
};

/** LocalLeaseRecords.#retireOthers */
function read(steps: Steps, index: number): void {
  steps.add(`authority ${index} reads the claims`, (next) => {
    const { own, known, change } = authorityOf(next, index);
    if (change === undefined) return;
    change.phase = "retire";
    for (const row of Object.keys(next.store.rows).sort()) {
      if (row === `c${own}`) continue;
      const id = row.slice(1);
      if (row.startsWith("r") && id in known) change.ends = Math.max(change.ends, known[id] ?? 0);
      else change.rows.push(`${row}=${next.store.rows[row]}`);
    }
    if (change.rows.length === 0) done(steps, next, index);
  });
}

/** LocalLeaseRecords.#retire, one write at a time. */
function retire(steps: Steps, index: number, change: Change): void {
  const [row, value] = (change.rows[0] ?? "").split("=") as [string, string];
  const id = row.slice(1);
  const { rows } = steps.state.store;
  const hasSpan = steps.has("a claim states the span of its leases");
  const span = hasSpan ? Number(value) : spanOf(authorityOf(steps.state, index), steps);
  const marks = row.startsWith("c") && !(`r${id}` in rows) && steps.has("a retired row stands for a deleted claim");
  if (marks) {
    steps.add(`authority ${index} marks claim ${id} as retired`, (next) => {
      next.store.rows[`r${id}`] = `${span}`;
    });
    return;
  }
  steps.add(`authority ${index} deletes claim ${id}, to wait ${span}`, (next) => {
    const authority = authorityOf(next, index);
    const own = authority.change as Change;
    delete next.store.rows[`c${id}`];
    authority.known[id] = span;
    own.ends = Math.max(own.ends, span);
    own.rows.shift();
    if (own.rows.length === 0) done(steps, next, index);
  });
}

/**
 * Everything is retired. The next phase is the wait, or the commit in a variant that commits last.
 */
function done(steps: Steps, next: State, index: number): void {
  const change = authorityOf(next, index).change as Change;
  const isLate = change.entry !== "" && !steps.has("claims are read after the commit");
  change.phase = isLate ? "commit" : "wait";
}
