/**
 * The state of the model: authorities, guards, the streams between them, and the store.
 *
 * Time is a number of ticks. A state contains no points in time, only how many ticks are left until
 * something ends. So the same situation at another time is the same state. A process that pauses
 * and continues needs no step of its own: each step of a process may come any number of ticks after
 * the one before it.
 *
 * A letter stands for a change, and a history is a text of letters. The revision is the number of
 * letters: `ab` is revision 2. Two histories of the same length may differ after a store has lost
 * changes that it had shown.
 */

/** The changes in the log up to a revision, in order. */
export type History = string;

/**
 * How many ticks longer a lease may run by the slow clock of a guard: the twentieth that leaseSpan
 * adds (lease-records.ts).
 */
export const MARGIN = 1;

/**
 * A stream of Policy.Watch between a guard and an authority: both ends, and the messages under way
 * between them.
 */
export interface Stream {
  guard: number;
  authority: number;
  /** Whether the guard, and the authority, regards the stream as open. */
  guardEnd: boolean;
  authorityEnd: boolean;
  /** Whether the guard decides by this stream. Otherwise the stream is a candidate. */
  followed: boolean;
  /** Whether the guard still has to notify the authority that it follows another one. */
  leaving: boolean;
  /** The history that the guard has received on this stream. */
  has: History | undefined;
  /** The lease that the authority grants, in ticks. */
  lease: number;
  /** The history that the authority has sent, and the part of it that has not arrived yet. */
  sent: History;
  news: History | undefined;
  /**
   * The ticks that would be left of the lease if the pong for the ping under way arrived now; -1
   * without a ping.
   */
  ping: number;
  /** The revision that the pong under way names; -1 without a pong. */
  pong: number;
  /**
   * As in Holder of leases.ts: the revision applied, the revision that the last pong named, and the
   * ticks until the last lease has ended.
   */
  applied: number;
  named: number;
  left: number;
  /** How far the authority is with its response to the ping (`pong` of policy.ts). */
  response: "" | "ping" | "create" | "held" | "read";
  /** The revision that the pong will name, if a variant of the protocol determines it early. */
  fixed: number;
}

export interface Guard {
  /** The history by which it decides. */
  has: History;
  /** The ticks for which it may decide; -1 until its first lease. */
  lease: number;
  /** An open stream of a caller: the history by which it was authorized. */
  open: History | undefined;
  /** Whether the caller of the open stream is being looked up again. */
  lookup: boolean;
  /** The history by which an authority has told it the caller of a token: under way, and cached. */
  asked: History | undefined;
  caller: History | undefined;
}

/**
 * A change from its commit to its acknowledgement (`settled` of leases.ts and lease-records.ts). An
 * empty entry stands for the start of the authority.
 */
export interface Change {
  entry: string;
  revision: number;
  /** Ticks until every lease has ended that this authority had granted before the commit. */
  left: number;
  phase: "commit" | "read" | "retire" | "wait";
  /**
   * SQLite: the rows that still have to be retired. Postgres: the lease records that it waits for.
   */
  rows: string[];
  /** Ticks until the leases of other authorities have ended. */
  ends: number;
}

export interface Authority {
  up: boolean;
  /** How long its leases run, in ticks. */
  lease: number;
  folded: History;
  /** Ticks until every lease has ended that it had granted before it applied this history. */
  since: number;
  /** The ID of its lease record; empty if it has none, or does not know of it. */
  own: string;
  change: Change | undefined;
  /**
   * Other authorities' lease records that it has retired or read: ticks until the leases under them
   * have ended.
   */
  known: Record<string, number>;
  /** Postgres: the value of each lease record when the authority began to count its span. */
  values: Record<string, string>;
  /** Postgres: whether a write by this authority has resolved at the present primary. */
  fenced: boolean;
}

export interface Content {
  log: History;
  /** By key: `c<id>` lease records, `r<id>` retired lease records, `a<id>` reports. */
  rows: Record<string, string>;
}

export interface State {
  store: Content;
  /** What a demoted primary still returns to readers. */
  demoted: Content | undefined;
  authorities: Authority[];
  guards: Guard[];
  streams: Stream[];
  acknowledged: string;
  /** How many lease records were ever created; gives the next ID. */
  claims: number;
  /** How many events of each kind may still happen. */
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

/** One tick passes on every clock; undefined if that changes nothing. */
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
