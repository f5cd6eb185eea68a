/**
 * The safeguards of the protocol: the name of each, its place in the code, and the smallest setting
 * that fails without it. docs/revocation.md has the same list.
 */
import type { Setting } from "./setting.js";

export interface Safeguard {
  readonly name: string;
  /** The file, and the function in it. */
  readonly code: string;
  readonly setting: Setting;
  /** Which test runs it, if it takes more than a second. */
  readonly large?: "slow" | "full";
}

const alone = (budget: Setting["budget"]): Setting => ({ guards: 1, authorities: [1], budget, store: "sqlite" });
const shared = (budget: Setting["budget"]): Setting => ({ ...two(budget), store: "postgres" });
const two = (budget: Setting["budget"]): Setting => ({ ...alone(budget), authorities: [1, 1], committer: 1 });

export const SAFEGUARDS: readonly Safeguard[] = [
  {
    name: "the acknowledgement waits for every guard's lease",
    code: "services/auth/log/leases/leases.ts, settledHere",
    setting: alone({ change: 1, ping: 1 }),
  },
  {
    name: "a guard decides nothing outside its lease",
    code: "src/access/follow/lease.ts, runs",
    setting: alone({ change: 1, ping: 1 }),
  },
  {
    name: "a lease counts from its ping",
    code: "src/access/follow/lease.ts, extend",
    setting: alone({ change: 1, ping: 2 }),
  },
  {
    name: "the span has a margin for clocks that run at different rates",
    code: "services/auth/log/leases/lease-records.ts, leaseSpan",
    setting: alone({ change: 1, ping: 1 }),
  },
  {
    name: "a pong counts once its revision is applied",
    code: "src/access/follow/lease.ts, takePongs",
    setting: alone({ change: 1, ping: 2 }),
  },
  {
    name: "the log is read for each pong",
    code: "services/auth/endpoints/policy.ts, pong",
    setting: two({ change: 1, ping: 1 }),
  },
  {
    name: "nothing is awaited between the reading of the revision and the grant",
    code: "services/auth/endpoints/policy.ts, pong",
    setting: alone({ change: 1, ping: 1 }),
  },
  {
    name: "a lease counts on after its stream has ended",
    code: "services/auth/log/leases/leases.ts, leave",
    setting: alone({ change: 1, ping: 1, break: 1 }),
  },
  {
    name: "each of several changes waits for its own revision",
    code: "services/auth/log/changelog/journal.ts, commit",
    setting: alone({ pair: 1, ping: 1 }),
  },
  {
    name: "all parts of a change are in one message",
    code: "services/auth/endpoints/policy.ts, changed",
    setting: alone({ change: 1, ping: 1 }),
  },
  {
    name: "a stream passes no message without a lease",
    code: "src/access/streams/open-streams.ts, mayPass",
    setting: alone({ change: 1, ping: 1, call: 1 }),
  },
  {
    name: "a stream passes no message while its caller is looked up",
    code: "src/access/streams/open-streams.ts, mayPass",
    setting: alone({ change: 1, ping: 2, call: 1 }),
  },
  {
    name: "a caller that was looked up counts if no change came after it",
    code: "src/access/callers/caller-cache.ts, #ask",
    setting: two({ change: 1, ping: 1, lookup: 1 }),
  },
  {
    name: "a change is applied to the callers that the guard has cached",
    code: "src/access/callers/caller-cache.ts, change",
    setting: two({ change: 1, ping: 1, lookup: 1 }),
  },
  {
    name: "a guard asks the authority that it follows for callers",
    code: "src/access/callers/lookups.ts, #askBatch",
    setting: { ...shared({ change: 1, ping: 1, lookup: 1, failover: 1, ghost: 1 }), committer: 0 },
    large: "slow",
  },
  {
    name: "the acknowledgement waits for the leases of other authorities",
    code: "services/auth/log/leases/lease-records.ts, settled",
    setting: two({ change: 1, ping: 1 }),
  },
  {
    name: "claims are read after the commit",
    code: "services/auth/log/leases/leases.ts, settled",
    setting: two({ change: 1, ping: 1 }),
  },
  {
    name: "the claim is read for each pong",
    code: "services/auth/log/leases/lease-records.ts, hold",
    setting: two({ change: 2, ping: 2 }),
    large: "slow",
  },
  {
    name: "a claim states the span of its leases",
    code: "services/auth/log/leases/lease-records.ts, spanOf",
    setting: { ...alone({ change: 1, ping: 1, crash: 1, start: 1 }), authorities: [3], restartLeases: [1] },
  },
  {
    name: "a retired row stands for a deleted claim",
    code: "services/auth/log/leases/lease-records.ts, #retire",
    setting: { ...two({ change: 1, ping: 1, crash: 1, start: 1 }) },
    large: "slow",
  },
  {
    name: "a retired row stays for its span",
    code: "services/auth/log/leases/lease-records.ts, #tidy",
    setting: two({ change: 1, ping: 1, crash: 1, start: 1 }),
    large: "slow",
  },
  {
    name: "streams end before the claim is withdrawn",
    code: "services/auth/authority.ts, close",
    setting: two({ change: 1, ping: 1, stop: 1 }),
    large: "slow",
  },
  {
    name: "a claim is renewed by a write before each pong",
    code: "services/auth/log/leases/shared-lease-records.ts",
    setting: shared({ change: 1, ping: 2, failover: 1 }),
    large: "full",
  },
  {
    name: "a reading sees what a write before it saw",
    code: "src/store/postgres.ts",
    setting: shared({ change: 1, ping: 1, failover: 1 }),
    large: "slow",
  },
  {
    name: "a history other than the own one is refused",
    code: "services/auth/log/changelog/journal.ts",
    setting: shared({ change: 1, ping: 1, failover: 1, ghost: 1 }),
    large: "full",
  },
  {
    name: "a report names the history by a checksum",
    code: "services/auth/log/leases/reports.ts",
    setting: shared({ change: 1, ping: 1, failover: 1, ghost: 1 }),
    large: "full",
  },
  {
    name: "a report waits for every guard of its authority",
    code: "services/auth/log/leases/reports.ts",
    setting: shared({ change: 1, ping: 1 }),
    large: "slow",
  },
  {
    name: "the span counts from the claim's present value",
    code: "services/auth/log/leases/shared-lease-records.ts",
    setting: shared({ change: 2, ping: 2 }),
    large: "full",
  },
  {
    name: "only a claim that did not change for its span is deleted",
    code: "services/auth/log/leases/shared-lease-records.ts",
    setting: shared({ change: 1, ping: 1 }),
    large: "slow",
  },
  {
    name: "a deletion compares the claim's value",
    code: "services/auth/log/leases/shared-lease-records.ts",
    setting: shared({ change: 2, ping: 2 }),
    large: "full",
  },
  {
    name: "a guard leaves a stream when it follows another",
    code: "src/access/follow/succession.ts, #leaveWhenSettled",
    setting: { ...two({ change: 1, ping: 1, open: 1 }), committer: 0 },
    large: "slow",
  },
  {
    name: "a lease of another stream replaces the one before",
    code: "src/access/follow/succession.ts, #followIfReady",
    setting: { ...two({ change: 1, ping: 2, open: 1 }), authorities: [2, 1], committer: 0 },
    large: "full",
  },
  {
    name: "a guard follows another stream once that has a lease",
    code: "src/access/follow/succession.ts, #followIfReady",
    setting: { ...two({ change: 1, ping: 1, open: 1 }), committer: 0 },
    large: "slow",
  },
];

/** Larger settings, for the protocol with every safeguard. */
export const LARGE_SETTINGS: readonly (readonly [title: string, setting: Setting])[] = [
  ["two guards at one authority", { ...alone({ change: 1, ping: 2 }), guards: 2 }],
  [
    "SQLite: an authority is killed and starts with a shorter lease, beside an open stream",
    { ...alone({ change: 1, ping: 1, crash: 1, start: 1, call: 1 }), authorities: [2], restartLeases: [1] },
  ],
  ["SQLite: either of two authorities makes a change", { ...two({ change: 1, ping: 2 }), committer: undefined }],
  ["SQLite: two changes written together, and one after them", two({ pair: 1, change: 1, ping: 1 })],
  ["Postgres: two changes written together", shared({ pair: 1, ping: 1 })],
  ["Postgres: a guard goes to the other authority", shared({ change: 1, ping: 1, open: 1 })],
  ["Postgres: authorities are killed and start", shared({ change: 1, ping: 1, crash: 1, start: 1 })],
];
