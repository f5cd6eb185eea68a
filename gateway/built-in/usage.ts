/**
 * Counts calls by namespace and endpoint, and reports the counts to the authority every ten
 * seconds.
 *
 * A report that does not reach the authority is sent again unchanged with the same sequence number,
 * so that it counts only once. Calls in the meantime are counted for the report after it. So there
 * are never more than two reports in memory.
 */
import { randomUUID } from "node:crypto";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { type Tally, UsageService } from "../../src/gen/portico/auth/v1/usage.js";
import type { Logger } from "../../src/log.js";
import { BOUNDS, boundOf } from "../../src/metrics.js";
import type { Channel } from "../../src/rpc/channel.js";
import { type CallOptions, unary } from "../../src/rpc/client.js";

/** Interval of reports, and maximum duration of a report, in milliseconds. */
const INTERVAL_MS = 10_000;
const REPORT_TIMEOUT_MS = 5_000;
/** Maximum duration of the last report, when the gateway stops. */
const LAST_REPORT_TIMEOUT_MS = 1_000;
/**
 * Maximum endpoints that are counted at a time, in all namespaces together. The authority accepts
 * the same number in one report.
 */
const MAX_ENDPOINTS = 10_000;

export interface UsageOptions {
  /** The channel to the authority. */
  readonly channel: Channel;
  readonly metadata?: CallOptions["metadata"];
  readonly admission?: CallOptions["admission"];
  readonly log: Logger;
  /** Interval of reports in milliseconds; default 10 s. */
  readonly intervalMs?: number | undefined;
}

interface EndpointCounts {
  readonly service: string;
  /** The name without the service, `Helloworld.Call`. */
  readonly endpoint: string;
  clientErrors: number;
  serverErrors: number;
  readonly byTime: number[];
}

export class Usage {
  readonly #options: UsageOptions;
  readonly #reporter = randomUUID();
  /** By namespace and canonical name. */
  readonly #namespaces = new Map([[DEFAULT_NAMESPACE, new Map<string, EndpointCounts>()]]);
  readonly #timer: NodeJS.Timeout;
  #endpoints = 0;
  #sequence = 0n;
  /** The report that the authority has not acknowledged yet. */
  #unsent: Tally[] = [];
  #sending: Promise<void> | undefined;
  #failing = false;

  constructor(options: UsageOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.report(REPORT_TIMEOUT_MS), options.intervalMs ?? INTERVAL_MS).unref();
  }

  /**
   * Counts a call that got a response (`CallCounter`). A refused call is counted only in a
   * namespace where calls were admitted before, so that invented names use no memory. A refused
   * call that names no namespace counts in `default`.
   */
  record(
    endpoint: Endpoint,
    namespace: string | undefined,
    requested: string | undefined,
    status: number,
    seconds: number,
  ) {
    const endpoints =
      this.#namespaces.get(namespace ?? requested ?? DEFAULT_NAMESPACE) ?? this.#addNamespace(namespace);
    const counted = endpoints?.get(endpoint.name) ?? this.#add(endpoints, endpoint);
    if (counted === undefined) return;
    if (status >= 500) counted.serverErrors++;
    else if (status >= 400) counted.clientErrors++;
    counted.byTime[boundOf(seconds)]!++;
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

  #addNamespace(namespace: string | undefined): Map<string, EndpointCounts> | undefined {
    if (namespace === undefined) return undefined;
    const endpoints = new Map<string, EndpointCounts>();
    this.#namespaces.set(namespace, endpoints);
    return endpoints;
  }

  #add(endpoints: Map<string, EndpointCounts> | undefined, { service, name }: Endpoint): EndpointCounts | undefined {
    if (endpoints === undefined || this.#endpoints >= MAX_ENDPOINTS) return undefined;
    const endpoint = name.slice(service.length + 1);
    const counted = { service, endpoint, clientErrors: 0, serverErrors: 0, byTime: BOUNDS.map(() => 0) };
    endpoints.set(name, counted);
    this.#endpoints++;
    return counted;
  }

  async #send(timeoutMs: number): Promise<void> {
    if (this.#unsent.length === 0) {
      this.#unsent = this.#take();
      if (this.#unsent.length === 0) return;
      this.#sequence += 1n;
    }
    const { channel, metadata, admission, log } = this.#options;
    const request = { reporter: this.#reporter, sequence: this.#sequence, tallies: { tallies: this.#unsent } };
    try {
      await unary(channel, UsageService.report, request, {
        metadata,
        admission,
        deadlineMonotonicMs: performance.now() + timeoutMs,
      });
      this.#unsent = [];
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, "the authority was not told of calls counted here; trying again");
      this.#failing = true;
    }
  }

  /** The counts since the last report. An endpoint without calls is forgotten. */
  #take(): Tally[] {
    const tallies: Tally[] = [];
    for (const [namespace, endpoints] of this.#namespaces) {
      for (const [name, counted] of endpoints) {
        const tally = tallyOf(namespace, counted);
        if (tally !== undefined) tallies.push(tally);
        else if (endpoints.delete(name)) this.#endpoints--;
      }
      if (endpoints.size === 0 && namespace !== DEFAULT_NAMESPACE) this.#namespaces.delete(namespace);
    }
    return tallies;
  }
}

/** Moves the counts into a tally; undefined if all counts are 0. */
function tallyOf(namespace: string, counted: EndpointCounts): Tally | undefined {
  const { service, endpoint, clientErrors, serverErrors, byTime } = counted;
  if (byTime.every((calls) => calls === 0)) return undefined;
  const errors = { clientErrors: BigInt(clientErrors), serverErrors: BigInt(serverErrors) };
  const tally = { namespace, service, endpoint, ...errors, byTime: byTime.map(BigInt) };
  counted.clientErrors = 0;
  counted.serverErrors = 0;
  byTime.fill(0);
  return tally;
}
