/**
 * Limits how often the contract of a service is read. Reading takes time and memory of the whole
 * process, and other processes decide when they register. If an equal contract is being read, or
 * was the last one read, its result is used. Thus all instances with one contract cost one reading,
 * even if each starts after the previous one has stopped.
 */
import { createHash } from "node:crypto";
import { Code, resourceExhausted, StatusError } from "../../src/errors.js";
import type { Logger } from "../../src/log.js";

/** The maximum number of readings of a service in a window. */
export const MAX_READINGS = 10;
/** The length of the window, in milliseconds. */
const WINDOW = 60_000;

interface Readings<T> {
  /** When each reading in the window began, by `performance.now()`. */
  times: number[];
  /** The readings in progress, by key. */
  readonly open: Map<string, Promise<T>>;
  last: { readonly key: string; readonly result: Promise<T> } | undefined;
  /** When the operator was last notified of a refusal. */
  reported: number;
}

export class ContractReadings<T> {
  readonly #log: Logger | undefined;
  readonly #services = new Map<string, Readings<T>>();

  constructor(log?: Logger) {
    this.#log = log;
  }

  /**
   * Reads a contract, or returns the result for an equal one. A contract that was refused is
   * refused again.
   * @param key identifies the contract; see `keyOfContract`
   * @throws {StatusError} (rejects) RESOURCE_EXHAUSTED after `MAX_READINGS` within a minute, or the
   *   error of `read`
   */
  read(service: string, key: string, read: () => Promise<T>): Promise<T> {
    const readings = this.#of(service);
    const known = readings.open.get(key) ?? (readings.last?.key === key ? readings.last.result : undefined);
    if (known !== undefined) return known;
    const now = performance.now();
    readings.times = readings.times.filter((time) => time > now - WINDOW);
    const [oldest] = readings.times;
    if (oldest !== undefined && readings.times.length >= MAX_READINGS) {
      return Promise.reject(this.#tooMany(service, readings, oldest + WINDOW - now));
    }
    readings.times.push(now);
    const result = read();
    readings.open.set(key, result);
    const keep = (): void => {
      readings.open.delete(key);
      readings.last = { key, result };
      setTimeout(() => this.#forget(service, readings, result), WINDOW).unref();
    };
    result.then(keep, (error) => {
      keep();
      // A contract that did not fit into memory may fit the next time.
      if (error instanceof StatusError && error.code === Code.RESOURCE_EXHAUSTED) readings.last = undefined;
    });
    return result;
  }

  #of(service: string): Readings<T> {
    let readings = this.#services.get(service);
    if (readings === undefined) {
      readings = { times: [], open: new Map(), last: undefined, reported: Number.NEGATIVE_INFINITY };
      this.#services.set(service, readings);
    }
    return readings;
  }

  #forget(service: string, readings: Readings<T>, result: Promise<T>): void {
    if (readings.last?.result === result) readings.last = undefined;
    if (readings.last === undefined && readings.open.size === 0) this.#services.delete(service);
  }

  #tooMany(service: string, readings: Readings<T>, waitMs: number): StatusError {
    const seconds = Math.ceil(waitMs / 1_000);
    const reason = `the contract of ${service} changed ${MAX_READINGS} times within a minute; the next one is read in ${seconds} s`;
    const now = performance.now();
    if (now - readings.reported >= WINDOW) {
      readings.reported = now;
      this.#log?.warn({ service, reason }, "a contract is refused: it changes too often");
    }
    return resourceExhausted(reason);
  }
}

/** The key that identifies a contract among the contracts of its service. */
export function keyOfContract(descriptors: Uint8Array, grpcServices: readonly string[]): string {
  const hash = createHash("sha256").update(descriptors);
  for (const name of grpcServices) hash.update("\0").update(name);
  return hash.digest("base64");
}
