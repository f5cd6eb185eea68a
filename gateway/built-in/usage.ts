/**
 * Counts calls by namespace and endpoint, and by caller, and reports the counts to the authority
 * every ten seconds.
 *
 * A report that does not reach the authority is sent again unchanged with the same sequence number,
 * so that it counts only once. Calls in the meantime are counted for the report after it. So there
 * are never more than two reports in memory.
 */
import { randomUUID } from "node:crypto";
import type { RefusalCause } from "../../src/call/admission.js";
import { type Caller, calledWith } from "../../src/call/caller.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { DEFAULT_NAMESPACE, GATEWAY, SELF_GOVERNED } from "../../src/contract/names.js";
import { type Tallies, type Tally, UsageService } from "../../src/gen/portico/auth/v1/usage.js";
import type { Logger } from "../../src/log.js";
import { BOUNDS, boundOf, COUNTED_STATUSES } from "../../src/metrics.js";
import type { Channel } from "../../src/rpc/channel.js";
import { type CallOptions, unary } from "../../src/rpc/client.js";

/** Interval of reports, and maximum duration of a report, in milliseconds. */
const INTERVAL_MS = 10_000;
const REPORT_TIMEOUT_MS = 5_000;
/** Maximum duration of the last report, when the gateway stops. */
const LAST_REPORT_TIMEOUT_MS = 1_000;
/**
 * Maximum endpoints, and maximum callers, that are counted at a time, in all namespaces together.
 * The authority accepts the same number in one report.
 */
const MAX_COUNTED = 10_000;
/** The account of calls without a valid token: the scope by which rules name these callers. */
const PUBLIC = "<public>";

export interface UsageOptions {
  /** The channel to the authority. */
  readonly channel: Channel;
  readonly metadata?: CallOptions["metadata"];
  readonly admission?: CallOptions["admission"];
  readonly log: Logger;
  /** Interval of reports in milliseconds; default 10 s. */
  readonly intervalMs?: number | undefined;
}

/** The calls of one endpoint or one caller since the last report. */
interface CallCounts extends Pick<Tally, "service" | "endpoint" | "account" | "key"> {
  clientErrors: number;
  serverErrors: number;
  readonly byTime: number[];
  /** Number of client errors, in the order of COUNTED_STATUSES. */
  readonly byStatus: number[];
}

interface EndpointCounts extends CallCounts {
  /** Whether its calls are counted by caller too. */
  readonly isByCaller: boolean;
}

interface NamespaceCounts {
  /** By canonical name. */
  readonly endpoints: Map<string, EndpointCounts>;
  /**
   * By the caller as the guard knows it, or account and key of refused calls; undefined for calls
   * whose account is unknown.
   */
  readonly callers: Map<Caller | string | undefined, CallCounts>;
  /** The calls of callers that are too many to be counted separately. */
  readonly rest: CallCounts;
}

/** The index in COUNTED_STATUSES by the status minus 400. */
const INDEX_OF_STATUS = Array.from({ length: 100 }, (_, index) => {
  const found = COUNTED_STATUSES.indexOf(400 + index);
  return found === -1 ? undefined : found;
});

export class Usage {
  readonly #options: UsageOptions;
  readonly #reporter = randomUUID();
  readonly #namespaces = new Map([[DEFAULT_NAMESPACE, createNamespaceCounts()]]);
  readonly #timer: NodeJS.Timeout;
  #endpoints = 0;
  #callers = 0;
  #sequence = 0n;
  /** The report that the authority has not acknowledged yet. */
  #unsent: Tallies = NO_CALLS;
  #sending: Promise<void> | undefined;
  #failing = false;

  constructor(options: UsageOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.report(REPORT_TIMEOUT_MS), options.intervalMs ?? INTERVAL_MS).unref();
  }

  /**
   * Counts a call that got a response (`CallCounter`). A refused call of an unknown account is
   * counted only in a namespace where other calls were counted before, so that invented names use
   * no memory. One that names no namespace counts in `default`.
   */
  record(
    endpoint: Endpoint,
    namespace: string | undefined,
    requested: string | undefined,
    status: number,
    seconds: number,
    caller: Caller | undefined,
    refused?: Pick<RefusalCause, "account" | "key">,
  ) {
    const counts = this.#namespaces.get(namespace ?? requested ?? DEFAULT_NAMESPACE) ?? this.#addNamespace(namespace);
    if (counts === undefined) return;
    const bound = boundOf(seconds);
    const counted = counts.endpoints.get(endpoint.name) ?? this.#add(counts, endpoint);
    if (counted === undefined) return;
    count(counted, status, bound);
    if (!counted.isByCaller) return;
    const by = refused === undefined ? caller : `${refused.account} ${refused.key}`;
    count(counts.callers.get(by) ?? this.#addCaller(counts, by, namesOf(refused, caller)), status, bound);
  }

  /**
   * Sends the counts to the authority. Resolves when the authority has them, or cannot be reached.
   */
  report(timeoutMs: number): Promise<void> {
    this.#sending ??= this.#send(timeoutMs).finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** Reports the last counts, if the authority responds at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sending;
    await this.report(LAST_REPORT_TIMEOUT_MS);
    if (!this.#failing) await this.report(LAST_REPORT_TIMEOUT_MS); // The counts since the report that was waiting.
  }

  #addNamespace(namespace: string | undefined): NamespaceCounts | undefined {
    if (namespace === undefined) return undefined;
    const counts = createNamespaceCounts();
    this.#namespaces.set(namespace, counts);
    return counts;
  }

  #add({ endpoints }: NamespaceCounts, { service, name }: Endpoint): EndpointCounts | undefined {
    if (this.#endpoints >= MAX_COUNTED) return undefined;
    const endpoint = name.slice(service.length + 1);
    const isByCaller = !SELF_GOVERNED.has(service) && service !== GATEWAY;
    const counted = { ...createCounts({ service, endpoint }), isByCaller };
    endpoints.set(name, counted);
    this.#endpoints++;
    return counted;
  }

  #addCaller(
    { callers, rest }: NamespaceCounts,
    by: Caller | string | undefined,
    names: Pick<Tally, "account" | "key">,
  ): CallCounts {
    // The report also has an entry for all other callers of each namespace.
    if (this.#callers + this.#namespaces.size >= MAX_COUNTED) return rest;
    const counted = createCounts(names);
    callers.set(by, counted);
    this.#callers++;
    return counted;
  }

  async #send(timeoutMs: number): Promise<void> {
    if (isEmpty(this.#unsent)) {
      this.#unsent = this.#take();
      if (isEmpty(this.#unsent)) return;
      this.#sequence += 1n;
    }
    const { channel, metadata, admission, log } = this.#options;
    const request = { reporter: this.#reporter, sequence: this.#sequence, tallies: this.#unsent };
    try {
      await unary(channel, UsageService.report, request, {
        metadata,
        admission,
        deadlineMonotonicMs: performance.now() + timeoutMs,
      });
      this.#unsent = NO_CALLS;
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, "the authority was not told of calls counted here; trying again");
      this.#failing = true;
    }
  }

  /** The counts since the last report. An endpoint or a caller without calls is forgotten. */
  #take(): Tallies {
    const taken: Tallies = { tallies: [], callers: [] };
    for (const [namespace, { endpoints, callers, rest }] of this.#namespaces) {
      this.#endpoints -= take(namespace, endpoints, taken.tallies);
      this.#callers -= take(namespace, callers, taken.callers);
      const others = tallyOf(namespace, rest);
      if (others !== undefined) taken.callers.push(others);
      const isIdle = endpoints.size === 0 && callers.size === 0;
      if (isIdle && namespace !== DEFAULT_NAMESPACE) this.#namespaces.delete(namespace);
    }
    return taken;
  }
}

const NO_CALLS: Tallies = { tallies: [], callers: [] };

function isEmpty({ tallies, callers }: Tallies): boolean {
  return tallies.length === 0 && callers.length === 0;
}

function createNamespaceCounts(): NamespaceCounts {
  return { endpoints: new Map(), callers: new Map(), rest: createCounts({}) };
}

function createCounts(names: Partial<Pick<Tally, "service" | "endpoint" | "account" | "key">>): CallCounts {
  const numbers = { byTime: BOUNDS.map(() => 0), byStatus: COUNTED_STATUSES.map(() => 0) };
  return { service: "", endpoint: "", account: "", key: "", ...names, clientErrors: 0, serverErrors: 0, ...numbers };
}

function namesOf(
  refused: Pick<RefusalCause, "account" | "key"> | undefined,
  caller: Caller | undefined,
): Pick<Tally, "account" | "key"> {
  return refused === undefined
    ? { account: caller?.account || PUBLIC, key: caller === undefined ? "" : calledWith(caller) }
    : { account: refused.account, key: refused.key };
}

/** @param bound the index of the duration in BOUNDS */
function count(counted: CallCounts, status: number, bound: number): void {
  counted.byTime[bound]!++;
  if (status < 400) return;
  if (status >= 500) {
    counted.serverErrors++;
    return;
  }
  counted.clientErrors++;
  const index = INDEX_OF_STATUS[status - 400];
  if (index !== undefined) counted.byStatus[index]!++;
}

/** Moves all counts into tallies. Returns how many had no calls and were forgotten. */
function take<Key>(namespace: string, counts: Map<Key, CallCounts>, tallies: Tally[]): number {
  let forgotten = 0;
  for (const [key, counted] of counts) {
    const tally = tallyOf(namespace, counted);
    if (tally !== undefined) tallies.push(tally);
    else if (counts.delete(key)) forgotten++;
  }
  return forgotten;
}

/** Moves the counts into a tally; undefined if all counts are 0. */
function tallyOf(namespace: string, counted: CallCounts): Tally | undefined {
  const { service, endpoint, account, key, clientErrors, serverErrors, byTime, byStatus } = counted;
  if (byTime.every((calls) => calls === 0)) return undefined;
  const errors = { clientErrors: BigInt(clientErrors), serverErrors: BigInt(serverErrors) };
  const numbers = { ...errors, byTime: byTime.map(BigInt), byStatus: byStatus.map(BigInt) };
  counted.clientErrors = 0;
  counted.serverErrors = 0;
  byTime.fill(0);
  byStatus.fill(0);
  return { namespace, service, endpoint, account, key, ...numbers };
}
