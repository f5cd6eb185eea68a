/**
 * Remembers the last refused calls, grouped by caller, endpoint and reason, and reports them to
 * each authority every five seconds.
 *
 * The calls of five seconds are grouped: a group has their number, and the latest of them one by
 * one. So a flood of like calls takes one group. Groups are numbered. For each authority the
 * gateway knows the last number that the authority has, and sends those after it. An authority that
 * has restarted has none, and gets all that are still remembered.
 *
 * Nothing here knows an argument or a token: only names, prefixes of keys, addresses, request IDs.
 */
import { randomUUID } from "node:crypto";
import { DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import {
  Reason,
  RefusalsService,
  type RefusedCall,
  type ReportedRefusals,
} from "../../src/gen/portico/auth/v1/refusals.js";
import type { Logger } from "../../src/log.js";
import type { Channel } from "../../src/rpc/channel.js";
import { type CallOptions, unary } from "../../src/rpc/client.js";
import { toTimestamp } from "../../src/time.js";
import type { RefusalLog, RefusedRequest } from "../stages/options.js";

/** Interval of reports, and maximum duration of a report, in milliseconds. */
const INTERVAL_MS = 5_000;
const REPORT_TIMEOUT_MS = 5_000;
/** Maximum number of calls that are remembered one by one. */
const MAX_CALLS = 10_000;
/** Maximum number of calls of one group that are remembered one by one. */
const MAX_LATEST = 100;
/** Maximum number of groups at a time; further calls are only counted, together. */
const MAX_GROUPS = 2_000;
/** Maximum number of calls in one report: less than 1 MiB. */
const MAX_REPORTED = 2_500;

export interface RefusalsOptions {
  /** The current authorities. */
  readonly authorities: () => Iterable<{ readonly channel: Channel }>;
  readonly metadata?: CallOptions["metadata"];
  readonly admission?: CallOptions["admission"];
  readonly log: Logger;
  /** Interval of reports in milliseconds; default 5 s. */
  readonly intervalMs?: number | undefined;
}

/** A call as it is recorded; its time in milliseconds since 1970. */
type Call = Omit<RefusedCall, "time"> & { readonly time: number };

/** Like refusals within one interval. */
interface Group extends Omit<ReportedRefusals, "count" | "latest"> {
  count: number;
  /** The latest, at most MAX_LATEST; the place of the next one is `count` modulo that number. */
  readonly calls: Call[];
}

/** The refusals that one gateway remembers. */
export class RefusalReporter implements RefusalLog {
  readonly #options: RefusalsOptions;
  readonly #reporter = randomUUID();
  readonly #timer: NodeJS.Timeout;
  /** The groups of the current interval. */
  #current = new Map<string, Group>();
  /** The group of the last refusal at each endpoint. */
  readonly #lastAt = new Map<string, Group>();
  /** How many calls they remember one by one. */
  #currentCalls = 0;
  /** The groups of earlier intervals; the first has the number `#first`. */
  readonly #kept: ReportedRefusals[] = [];
  #first = 1;
  #calls = 0;
  /** The number of the last group that each authority has. */
  readonly #known = new WeakMap<Channel, number>();
  #sending: Promise<void> | undefined;

  constructor(options: RefusalsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.report(), options.intervalMs ?? INTERVAL_MS).unref();
  }

  record(request: RefusedRequest): void {
    // Anyone can make up a token. So unknown ones are one group, and their prefixes are in its
    // calls.
    const isUnknown = request.refused.reason === "UNKNOWN_TOKEN";
    const group = this.#groupOf(request, isUnknown ? "" : request.refused.key);
    const { address, requestId } = request;
    const isMore = group.count < MAX_LATEST;
    const call = { time: Date.now(), address, requestId, key: isUnknown ? request.refused.key : "" };
    group.calls[group.count++ % MAX_LATEST] = call;
    if (isMore && ++this.#currentCalls >= MAX_CALLS) this.#endInterval();
  }

  /** Sends what each authority lacks. Resolves when all have responded, or cannot be reached. */
  report(): Promise<void> {
    this.#endInterval();
    this.#sending ??= this.#reportToAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sending;
  }

  #groupOf(request: RefusedRequest, key: string): Group {
    const { endpoint, refused, status } = request;
    // The calls of a flood are alike: to compare them with the last one is cheaper than a name.
    const last = this.#lastAt.get(endpoint);
    if (last !== undefined && isLike(last, request, key)) return last;
    const { namespace, account, cause, reason } = refused;
    const name = `${reason} ${status} ${endpoint} ${namespace} ${account} ${key} ${cause}`;
    const group = this.#current.get(name) ?? this.#addGroup(name, request, key);
    if (group.refused?.endpoint === endpoint) this.#lastAt.set(endpoint, group);
    return group;
  }

  #addGroup(name: string, { endpoint, refused, status }: RefusedRequest, key: string): Group {
    if (this.#current.size >= MAX_GROUPS) return this.#rest();
    const { namespace, account, cause, reason } = refused;
    const group: Group = {
      namespace,
      refused: { endpoint, account, key, cause, reason: Reason[reason], code: status },
      count: 0,
      calls: [],
    };
    this.#current.set(name, group);
    return group;
  }

  /** The group of the calls that are too many to be told apart. */
  #rest(): Group {
    let rest = this.#current.get("");
    if (rest === undefined) {
      const refused = { endpoint: "", account: "", key: "", cause: "", reason: Reason.REASON_UNSPECIFIED, code: 0 };
      rest = { namespace: DEFAULT_NAMESPACE, refused, count: 0, calls: [] };
      this.#current.set("", rest);
    }
    return rest;
  }

  /** Numbers the groups of the interval, and forgets the oldest ones above the maximum. */
  #endInterval(): void {
    for (const { namespace, refused, count, calls } of this.#current.values()) {
      const next = count % MAX_LATEST;
      const inOrder = count > MAX_LATEST ? [...calls.slice(next), ...calls.slice(0, next)] : calls;
      const latest = inOrder.map((call) => ({ ...call, time: toTimestamp(call.time) }));
      this.#kept.push({ namespace, refused, count: BigInt(count), latest });
      this.#calls += latest.length;
    }
    this.#current = new Map();
    this.#lastAt.clear();
    this.#currentCalls = 0;
    let dropped = 0;
    while (this.#calls > MAX_CALLS) this.#calls -= this.#kept[dropped++]!.latest.length;
    this.#kept.splice(0, dropped);
    this.#first += dropped;
  }

  async #reportToAll(): Promise<void> {
    if (this.#kept.length === 0) return;
    const channels = Array.from(this.#options.authorities(), ({ channel }) => channel);
    await Promise.all(channels.map((channel) => this.#reportTo(channel)));
  }

  /** Reports until the authority has all groups; also without groups, in case it has restarted. */
  async #reportTo(channel: Channel): Promise<void> {
    const { log, metadata, admission } = this.#options;
    try {
      for (let isDone = false; !isDone; ) {
        const after = this.#known.get(channel) ?? 0;
        const first = Math.max(after + 1, this.#first);
        const groups = this.#some(first - this.#first);
        const request = { reporter: this.#reporter, after: BigInt(after), first: BigInt(first), groups };
        const deadlineMonotonicMs = performance.now() + REPORT_TIMEOUT_MS;
        const response = await unary(channel, RefusalsService.report, request, {
          metadata,
          admission,
          deadlineMonotonicMs,
        });
        this.#known.set(channel, Number(response.last));
        isDone = Number(response.last) >= this.#first + this.#kept.length - 1 || Number(response.last) === after;
      }
    } catch (error) {
      log.debug({ err: error }, "an authority was not told of refused calls; trying again");
    }
  }

  /** The groups from an index on, as many as one report may have. */
  #some(from: number): ReportedRefusals[] {
    let calls = 0;
    let to = from;
    while (to < this.#kept.length && calls < MAX_REPORTED) calls += this.#kept[to++]!.latest.length;
    return this.#kept.slice(from, to);
  }
}

function isLike({ namespace, refused }: Group, { refused: other, status }: RefusedRequest, key: string): boolean {
  return (
    refused !== undefined &&
    refused.reason === Reason[other.reason] &&
    refused.code === status &&
    refused.account === other.account &&
    refused.key === key &&
    refused.cause === other.cause &&
    namespace === other.namespace
  );
}
