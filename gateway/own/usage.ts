/**
 * Counts calls by namespace and endpoint, and tells the authority every ten seconds. A call costs two lookups and a few
 * additions: what it is counted in is there already.
 *
 * A report that does not reach the authority is sent again as it was, under its number, so that it counts once; what
 * is called meanwhile waits for the next one. So there are never more than two reports in memory.
 */
import { randomUUID } from "node:crypto";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { type Tally, UsageService } from "../../src/gen/portico/auth/v1/usage.js";
import type { Logger } from "../../src/log.js";
import { BOUNDS, boundOf } from "../../src/metrics.js";
import type { Channel } from "../../src/rpc/channel.js";
import { type CallOptions, unary } from "../../src/rpc/client.js";

/** How often is reported, in milliseconds, and how long a report may take. */
const INTERVAL = 10_000;
const ANSWER_TIME = 5_000;
/** The same for the last one, when the gateway stops. */
const LAST_ANSWER_TIME = 1_000;
/** Most endpoints counted at a time, over all namespaces: as many as the authority takes. */
const MAX_ENDPOINTS = 10_000;
/** Of calls that are refused before their namespace is known. */

export interface UsageOptions {
  /** To the authority. */
  readonly channel: Channel;
  readonly metadata?: CallOptions["metadata"];
  readonly admission?: CallOptions["admission"];
  readonly log: Logger;
  /** How often is reported, in milliseconds; default 10 s. */
  readonly intervalMs?: number | undefined;
}

interface Counted {
  readonly service: string;
  /** Without the service, `Helloworld.Call`. */
  readonly endpoint: string;
  clientErrors: number;
  serverErrors: number;
  readonly byTime: number[];
}

export class Usage {
  readonly #options: UsageOptions;
  readonly #reporter = randomUUID();
  /** By namespace and canonical name. */
  readonly #namespaces = new Map([[DEFAULT_NAMESPACE, new Map<string, Counted>()]]);
  readonly #timer: NodeJS.Timeout;
  #endpoints = 0;
  #sequence = 0n;
  /** What the authority has not acknowledged yet. */
  #unsent: Tally[] = [];
  #sending: Promise<void> | undefined;
  #failing = false;

  constructor(options: UsageOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.report(ANSWER_TIME), options.intervalMs ?? INTERVAL).unref();
  }

  /**
   * Counts a call that was answered.
   * @param namespace in which it was let in; undefined for a call that was refused.
   * @param asked the namespace that it asked for. A refused call counts only where one was let in before, so that
   * names that are made up take no memory; and in `default`, where it asked for none.
   */
  record(
    endpoint: Endpoint,
    namespace: string | undefined,
    asked: string | undefined,
    status: number,
    seconds: number,
  ) {
    const endpoints = this.#namespaces.get(namespace ?? asked ?? DEFAULT_NAMESPACE) ?? this.#addNamespace(namespace);
    const counted = endpoints?.get(endpoint.name) ?? this.#add(endpoints, endpoint);
    if (counted === undefined) return;
    if (status >= 500) counted.serverErrors++;
    else if (status >= 400) counted.clientErrors++;
    counted.byTime[boundOf(seconds)]!++;
  }

  /** Tells the authority what has been counted. Resolves when it is told, or cannot be. */
  report(answerTime: number): Promise<void> {
    this.#sending ??= this.#send(answerTime).finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** Reports what is left, if the authority answers at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sending;
    await this.report(LAST_ANSWER_TIME);
    if (!this.#failing) await this.report(LAST_ANSWER_TIME); // What was counted while an older one waited.
  }

  #addNamespace(namespace: string | undefined): Map<string, Counted> | undefined {
    if (namespace === undefined) return undefined;
    const endpoints = new Map<string, Counted>();
    this.#namespaces.set(namespace, endpoints);
    return endpoints;
  }

  #add(endpoints: Map<string, Counted> | undefined, { service, name }: Endpoint): Counted | undefined {
    if (endpoints === undefined || this.#endpoints >= MAX_ENDPOINTS) return undefined;
    const endpoint = name.slice(service.length + 1);
    const counted = { service, endpoint, clientErrors: 0, serverErrors: 0, byTime: BOUNDS.map(() => 0) };
    endpoints.set(name, counted);
    this.#endpoints++;
    return counted;
  }

  async #send(answerTime: number): Promise<void> {
    if (this.#unsent.length === 0) {
      this.#unsent = this.#take();
      if (this.#unsent.length === 0) return;
      this.#sequence += 1n;
    }
    const { channel, metadata, admission, log } = this.#options;
    const request = { reporter: this.#reporter, sequence: this.#sequence, tallies: { tallies: this.#unsent } };
    try {
      await unary(channel, UsageService.report, request, { metadata, admission, deadline: Date.now() + answerTime });
      this.#unsent = [];
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, "the authority was not told of calls counted here; trying again");
      this.#failing = true;
    }
  }

  /** What has been counted since the last time. What was not called since then is forgotten. */
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

/** Takes the numbers out; undefined where there are none. */
function tallyOf(namespace: string, counted: Counted): Tally | undefined {
  const { service, endpoint, clientErrors, serverErrors, byTime } = counted;
  if (byTime.every((calls) => calls === 0)) return undefined;
  const tally = {
    namespace,
    service,
    endpoint,
    clientErrors: BigInt(clientErrors),
    serverErrors: BigInt(serverErrors),
    byTime: byTime.map(BigInt),
  };
  counted.clientErrors = 0;
  counted.serverErrors = 0;
  byTime.fill(0);
  return tally;
}
