/**
 * The state of the model: authorities, guards, the streams between them, and the store.
 *
 * Time is a number of ticks. A state holds no moments, only how many ticks are left until something ends, so that the same
 * situation at another time is the same state. A process that is stopped and goes on needs nothing here: every step of a
 * process may come at any time, however many ticks after the one before it.
 *
 * A revision is the number of letters of a history, and a letter is a change: `ab` is revision 2. Two histories of one length
 * may differ, where a store lost what it had shown.
 */

/** The changes in the log up to a revision, in their order. */
export type History = string;

/** How many ticks a lease may last longer by a guard's slow clock: the twentieth of leaseSpan (lease-records.ts). */
export const MARGIN = 1;

/** Policy.Watch between a guard and an authority, both ends and what is under way between them. */
export interface Stream {
  guard: number;
  authority: number;
  /** Whether each end knows it as open. */
  guardEnd: boolean;
  authorityEnd: boolean;
  /** Whether the guard decides by it; else it is a candidate. */
  followed: boolean;
  /** Whether the guard is to tell the authority that it follows another. */
  leaving: boolean;
  /** What the guard has received on it. */
  has: History | undefined;
  /** The lease that the authority grants, in ticks. */
  lease: number;
  /** What the authority has sent of its history, and what of that has not arrived. */
  sent: History;
  news: History | undefined;
  /** Ticks left of the lease that an answer to the ping under way would give; -1 without a ping. */
  ping: number;
  /** The revision that the pong under way names; -1 without one. */
  pong: number;
  /** The authority's Holder: the revision applied, the one named last, and the ticks until the lease granted last has ended. */
  applied: number;
  named: number;
  left: number;
  /** How far the authority is with its answer to the ping (policy.ts, `pong`). */
  response: "" | "ping" | "create" | "held" | "read";
  /** The revision that the answer will name, where a variant fixes it early. */
  fixed: number;
}

export interface Guard {
  /** The history by whose rules it decides. */
  has: History;
  /** Ticks for which it may decide; -1 until it first may. */
  lease: number;
  /** An open stream of a caller: the history that it was judged by. */
  open: History | undefined;
  /** The caller of the open stream is being looked up again. */
  lookup: boolean;
}

/** A change from its commit to its acknowledgement (leases.ts and lease-records.ts, `settled`); an empty entry is a start. */
export interface Change {
  entry: string;
  revision: number;
  /** Ticks until every lease has ended that this authority had granted before the commit. */
  left: number;
  phase: "commit" | "read" | "retire" | "wait";
  /** Rows that are still to be retired; for a shared claim, what is waited for. */
  rows: string[];
  /** Ticks until the leases of other authorities have ended. */
  ends: number;
}

export interface Authority {
  up: boolean;
  /** Of its leases, in ticks. */
  lease: number;
  folded: History;
  /** Ticks until every lease has ended that it had granted before it folded its history in. */
  since: number;
  /** The id of its claim; empty while it has none as far as it knows. */
  own: string;
  change: Change | undefined;
  /** Claims of others that it has retired, or has read: ticks until the leases under them have ended. */
  known: Record<string, number>;
  /** What it knew of the value of each claim when it began to count; shared claims only. */
  values: Record<string, string>;
  /** A write of it has resolved at the server that is primary now; shared claims only. */
  fenced: boolean;
}

/** What the store holds. */
export interface Content {
  log: History;
  /** `c<id>` claims, `r<id>` retired claims, `a<id>` reports. */
  rows: Record<string, string>;
}

export interface State {
  store: Content;
  /** What a demoted primary still shows. */
  demoted: Content | undefined;
  authorities: Authority[];
  guards: Guard[];
  streams: Stream[];
  /** The changes that were acknowledged. */
  acknowledged: string;
  /** How many claims were ever made. */
  claims: number;
  /** How often each kind of event may still happen. */
  budget: Record<string, number>;
}

export function clone(state: State): State {
  return {
    ...state,
    store: { log: state.store.log, rows: { ...state.store.rows } },
    demoted: state.demoted && { log: state.demoted.log, rows: { ...state.demoted.rows } },
    authorities: state.authorities.map((authority) => ({
      ...authority,
      change: authority.change && { ...authority.change, rows: [...authority.change.rows] },
      known: { ...authority.known },
      values: { ...authority.values },
    })),
    guards: state.guards.map((guard) => ({ ...guard })),
    streams: state.streams.map((stream) => ({ ...stream })),
    budget: { ...state.budget },
  };
}

/** One tick passes on every clock; undefined where that changes nothing. */
export function tick(state: State): State | undefined {
  const next = clone(state);
  let changed = false;
  const count = (ticks: number): number => {
    if (ticks > 0) changed = true;
    return Math.max(ticks - 1, Math.min(ticks, 0));
  };
  for (const guard of next.guards) guard.lease = count(guard.lease);
  for (const stream of next.streams) {
    stream.left = count(stream.left);
    stream.ping = count(stream.ping);
  }
  for (const authority of next.authorities) {
    const { change, known } = authority;
    authority.since = count(authority.since);
    for (const id of Object.keys(known)) known[id] = count(known[id] ?? 0);
    if (change === undefined) continue;
    change.left = count(change.left);
    change.ends = count(change.ends);
  }
  return changed ? next : undefined;
}
