/**
 * Decides changes that are written together. Each change is decided on the state that includes the
 * changes before it, although none of them is written yet. For this it uses a private draft of the
 * state.
 */
import { agentScopeOf } from "../../../../src/contract/scope.js";
import type { Entry, Event } from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { AuditRecord } from "../../../../src/gen/portico/auth/v1/audit.js";
import { toTimestamp } from "../../../../src/time.js";
import type { PlacedRecord } from "../audit/audit-records.js";
import { fold } from "../state/fold.js";
import type { State } from "../state/state.js";
import type { AuthorityClock } from "../time/clock.js";

/** Who makes a change, for the audit trail of a namespace. */
export interface Author {
  readonly namespace: string;
  readonly account: string;
  /** The call that asks for the change; undefined if there is none. */
  readonly origin?: Origin | undefined;
}

/** Where a call comes from. */
export interface Origin {
  /** The client's address. */
  readonly address: string;
  readonly requestId: string | undefined;
  /** SHA-256 of the token of the call; undefined for a call without one. */
  readonly token?: Buffer | undefined;
}

/** What gateways say of a request for which they call. */
export type Asking = { readonly address: string; readonly requestId: string };

export function requestOrigin({ address, requestId }: Asking): Origin {
  return { address, requestId: requestId || undefined };
}

/**
 * Decides what a change consists of: the events of its entry. It must read only the given state,
 * because any other state may lack the changes before this one.
 * @param now in milliseconds since 1970
 * @throws {StatusError} to refuse the change.
 */
export type Decide = (state: State, now: number) => LogEvent[];

/** One event of an entry. */
export type LogEvent = NonNullable<Event["event"]>;

/** A change that is asked for. */
export interface Proposal {
  readonly author: Author;
  readonly decide: Decide;
}

/**
 * The result: an entry and its audit records, no entry if there is nothing to change, or a refusal.
 */
export type ChangeDecision =
  | { readonly entry: Entry | undefined; readonly records: readonly PlacedRecord[] }
  | { readonly refusal: unknown };

/** Decides changes in their order. Does not change `state`. */
export function decideInOrder(
  state: State,
  proposals: readonly Proposal[],
  clock: Pick<AuthorityClock, "now" | "check">,
): ChangeDecision[] {
  let current = state;
  return proposals.map((proposal) => {
    let entry: Entry | undefined;
    try {
      entry = entryOf(proposal, current, clock);
    } catch (refusal) {
      return { refusal };
    }
    if (entry === undefined) return { entry, records: [] };
    const origin = originOf(proposal.author, current);
    if (current === state) current = state.draft();
    const records = fold(current, entry).records.map((placed) => withOrigin(placed, origin));
    return { entry, records };
  });
}

/** The fields of audit records that describe the call; empty without a call. */
function originOf({ origin }: Author, state: State): Partial<AuditRecord> {
  if (origin === undefined) return {};
  const token = origin.token && state.token(origin.token);
  const agent = token?.kind === "granted" ? agentScopeOf(token.granted.grant.clientId) : "";
  const key = token?.kind === "key" ? token.key.prefix : agent;
  return { address: origin.address, requestId: origin.requestId ?? "", key };
}

function withOrigin(placed: PlacedRecord, origin: Partial<AuditRecord>): PlacedRecord {
  return { ...placed, record: { ...placed.record, ...origin } };
}

function entryOf(
  { author, decide }: Proposal,
  state: State,
  clock: Pick<AuthorityClock, "now" | "check">,
): Entry | undefined {
  const events = decide(state, clock.now());
  if (events.length === 0) return undefined;
  clock.check();
  return {
    time: toTimestamp(clock.now()),
    actor: author.account,
    namespace: author.namespace,
    events: events.map((event) => ({ event })),
  };
}
