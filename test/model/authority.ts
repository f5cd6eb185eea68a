/**
 * What authorities do: `pong` of services/auth/endpoints/policy.ts, commits and reads of the log
 * (log/changelog/journal.ts), and the wait for their own guards (log/leases/leases.ts).
 * sqlite-lease-records.ts and shared-lease-records.ts model how they learn of the leases of other
 * authorities.
 */
import type { Steps } from "./setting.js";
import { type Authority, type Change, type History, MARGIN, type State, type Stream } from "./state.js";

/** How authorities on one store learn of the leases of others. */
export interface ClaimRules {
  /** Before a pong: the steps from `ping` to `held` (LeaseRecords.hold). */
  hold(steps: Steps, index: number, stream: number): void;
  /** After a commit: the steps until `isSettled` (LeaseRecords.settled). */
  settle(steps: Steps, index: number, change: Change): void;
  isSettled(change: Change): boolean;
  /** The steps that an authority takes by itself, without a ping or a change. */
  tidy(steps: Steps, index: number): void;
  /**
   * A clean stop withdraws the lease record.
   * @param left ticks for which leases may still run
   */
  withdraw(next: State, index: number, left: number): void;
  /**
   * The histories that a read of the log may return, each with a word for the label of the step.
   */
  readings(state: State, index: number, steps: Steps): (readonly [how: string, log: History])[];
}

/** The span of an authority's leases (leaseSpan of lease-records.ts). */
export function spanOf({ lease }: { lease: number }, steps: Steps): number {
  return lease + (steps.has("the span has a margin for clocks that run at different rates") ? MARGIN : 0);
}

export function authorityOf(state: State, index: number): Authority {
  return state.authorities[index] as Authority;
}

/**
 * The authority applies the history, and sends it to every guard (Journal.#fold, Watcher.changed).
 */
export function fold(next: State, index: number, history: History): void {
  const authority = authorityOf(next, index);
  if (authority.folded === history) return;
  authority.folded = history;
  authority.since = authority.lease + MARGIN;
  for (const stream of next.streams) {
    if (stream.authority !== index || !stream.authorityEnd || stream.sent === history) continue;
    stream.sent = history;
    if (stream.guardEnd) stream.news = history;
  }
}

export function authoritySteps(steps: Steps, claims: ClaimRules): void {
  for (const [index, authority] of steps.state.authorities.entries()) {
    if (!authority.up) start(steps, index);
    else {
      for (const [at, stream] of steps.state.streams.entries()) {
        if (stream.authority === index && stream.authorityEnd) serve(steps, claims, at);
      }
      claims.tidy(steps, index);
      catchUp(steps, claims, index);
      if (authority.change === undefined) commit(steps, index);
      else settle(steps, claims, index, authority.change);
      fail(steps, claims, index);
    }
  }
}

/** `listen` and `pong` of policy.ts. */
function serve(steps: Steps, claims: ClaimRules, at: number): void {
  const stream = steps.state.streams[at] as Stream;
  const who = `authority ${stream.authority}`;
  if (!stream.guardEnd) {
    // Leases.leave
    steps.add(`${who} sees that guard ${stream.guard} is gone`, (next) => {
      const own = next.streams[at] as Stream;
      [own.authorityEnd, own.response] = [false, ""];
      if (!steps.has("a lease counts on after its stream has ended")) own.left = 0;
    });
    return;
  }
  const mayGrant = stream.applied >= stream.named;
  if (stream.response === "create" || (stream.response === "ping" && mayGrant))
    claims.hold(steps, stream.authority, at);
  if (stream.response === "held") readLog(steps, claims, at);
  if (stream.response === "read") pong(steps, at);
}

/** Journal.sync */
function readLog(steps: Steps, claims: ClaimRules, at: number): void {
  const { authority } = steps.state.streams[at] as Stream;
  const { folded } = authorityOf(steps.state, authority);
  const readings = claims.readings(steps.state, authority, steps);
  const known = steps.has("the log is read for each pong") ? readings : ([["as it knows it", folded]] as const);
  for (const [how, log] of known) {
    steps.add(`authority ${authority} reads the log ${how}: revision ${log.length}`, (next) => {
      fold(next, authority, log);
      Object.assign(next.streams[at] as Stream, { response: "read", fixed: log.length });
    });
  }
}

/** `pong` of policy.ts, and Leases.grant in the same turn of the event loop. */
function pong(steps: Steps, at: number): void {
  const { authority, guard, fixed } = steps.state.streams[at] as Stream;
  const { folded } = authorityOf(steps.state, authority);
  const isLate = !steps.has("nothing is awaited between the reading of the revision and the grant");
  const revision = isLate ? fixed : folded.length;
  steps.add(`authority ${authority} responds to guard ${guard} with a pong that names revision ${revision}`, (next) => {
    const own = next.streams[at] as Stream;
    Object.assign(own, { pong: revision, named: revision, response: "", fixed: -1 });
    own.left = spanOf(own, steps);
  });
}

/** Journal.sync for another reason than a ping: a lookup by a guard, a change, a notification. */
function catchUp(steps: Steps, claims: ClaimRules, index: number): void {
  const { folded } = authorityOf(steps.state, index);
  for (const [how, log] of claims.readings(steps.state, index, steps)) {
    if (log === folded) continue;
    steps.add(`authority ${index} reads the log ${how}: revision ${log.length}`, (next) => fold(next, index, log));
  }
}

/** Journal.commit: appends an entry if its revision is free. */
function commit(steps: Steps, index: number): void {
  const { folded } = authorityOf(steps.state, index);
  const { store } = steps.state;
  // Creates the entry under its revision only if the entry before it exists (Collection.create).
  if (folded.length !== store.log.length || steps.setting.committer === 1 - index) return;
  // The letter does not say which authority made the change: guards cannot tell.
  const entry = "abc"[store.log.length] ?? "z";
  const begin = (next: State, phase: Change["phase"], followed = entry, revision = store.log.length + 1): void => {
    const left = spanOf(authorityOf(next, index), steps);
    authorityOf(next, index).change = { entry: followed, revision, left, phase, rows: [], ends: 0 };
  };
  if (!steps.has("claims are read after the commit")) {
    steps.event("change", `authority ${index} reads the claims before it commits change ${entry}`, (next) => {
      begin(next, "read");
    });
    return;
  }
  steps.event("change", `authority ${index} commits change ${entry}`, (next) => {
    begin(next, "read");
    append(next, index, entry);
  });
  const pair = "abc".slice(store.log.length, store.log.length + 2);
  if (pair.length < 2) return;
  for (const [at, followed] of [...pair].entries()) {
    steps.event("pair", `authority ${index} commits changes ${pair} together, of which ${followed} waits`, (next) => {
      const before = steps.has("each of several changes waits for its own revision") ? at : 0;
      begin(next, "read", followed, store.log.length + 1 + before);
      append(next, index, pair);
    });
  }
}

/** The entries are in the log, and the authority has applied them. */
export function append(next: State, index: number, entries: string): void {
  next.store.log += entries;
  authorityOf(next, index).fenced = true;
  fold(next, index, authorityOf(next, index).folded + entries);
}

/** Leases.settled: the authority's own guards, and the lease records of others. */
function settle(steps: Steps, claims: ClaimRules, index: number, change: Change): void {
  const { state } = steps;
  if (change.phase === "commit") {
    if (authorityOf(state, index).folded.length !== state.store.log.length) return;
    steps.add(`authority ${index} commits change ${change.entry}`, (next) => {
      append(next, index, change.entry);
      const own = authorityOf(next, index).change as Change;
      [own.phase, own.left] = ["wait", spanOf(authorityOf(next, index), steps)];
    });
    return;
  }
  claims.settle(steps, index, change);
  if (change.entry === "") {
    if (change.phase === "wait")
      steps.add(`authority ${index} has started`, (next) => {
        authorityOf(next, index).change = undefined;
      });
    return;
  }
  const others =
    claims.isSettled(change) || !steps.has("the acknowledgement waits for the leases of other authorities");
  const guards = isSettledHere(state, index, change) || !steps.has("the acknowledgement waits for every guard's lease");
  if (!others || !guards) return;
  steps.add(`authority ${index} acknowledges change ${change.entry}`, (next) => {
    authorityOf(next, index).change = undefined;
    if (!next.acknowledged.includes(change.entry)) next.acknowledged += change.entry;
  });
}

/** Leases.settledHere */
export function isSettledHere(
  state: State,
  index: number,
  { revision, left }: Pick<Change, "revision" | "left">,
): boolean {
  return state.streams.every(
    (stream) => stream.authority !== index || stream.applied >= revision || Math.min(stream.left, left) === 0,
  );
}

function fail(steps: Steps, claims: ClaimRules, index: number): void {
  steps.event("crash", `authority ${index} is killed`, (next) => down(next, index));
  const { streams, authorities } = steps.state;
  if (authorities[index]?.change !== undefined) return;
  const open = streams.some(({ authority, authorityEnd }) => authority === index && authorityEnd);
  if (open && steps.has("streams end before the claim is withdrawn")) {
    if ((steps.state.budget.stop ?? 0) === 0) return;
    for (const [at, stream] of streams.entries()) {
      if (stream.authority !== index || !stream.authorityEnd) continue;
      steps.add(`authority ${index} stops, and ends the stream of guard ${stream.guard}`, (next) => {
        const own = next.streams[at] as Stream;
        [own.authorityEnd, own.response] = [false, ""];
      });
    }
    return;
  }
  steps.event("stop", `authority ${index} withdraws its claim and ends`, (next) => {
    const left = Math.max(0, ...next.streams.filter(({ authority }) => authority === index).map(({ left }) => left));
    claims.withdraw(next, index, left);
    if (open) authorityOf(next, index).own = "";
    else down(next, index);
  });
}

/** The process ends, and everything in its memory is lost. */
function down(next: State, index: number): void {
  const authority = authorityOf(next, index);
  Object.assign(authority, {
    up: false,
    folded: "",
    since: 0,
    own: "",
    change: undefined,
    known: {},
    values: {},
    fenced: false,
  });
  for (const stream of next.streams) {
    if (stream.authority !== index) continue;
    Object.assign(stream, { authorityEnd: false, response: "", fixed: -1, left: 0, applied: 0, named: 0 });
  }
}

function start(steps: Steps, index: number): void {
  for (const lease of steps.setting.restartLeases ?? [authorityOf(steps.state, index).lease]) {
    steps.event("start", `authority ${index} starts with a lease of ${lease}`, (next) => {
      const authority = authorityOf(next, index);
      Object.assign(authority, { up: true, lease, folded: next.store.log });
      if (steps.setting.store === "sqlite") {
        authority.change = { entry: "", revision: 0, left: 0, phase: "read", rows: [], ends: 0 };
      }
    });
  }
}
