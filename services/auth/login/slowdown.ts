/**
 * Slows down the guessing of passwords: after five failures for an account from an address, each further one makes the
 * next attempt wait twice as long, from a second to a quarter of an hour. After a success, failures count from 0 again.
 */

import { networkOf } from "../../../src/client-address.js";
import { Code, StatusError } from "../../../src/errors.js";
import { RetryInfo } from "../../../src/gen/google/rpc/error_details.js";

const FREE_FAILURES = 5;
const MAX_DELAY = 15 * 60_000;
/** After this time without a failure, all is forgotten. */
const MEMORY = 60 * 60_000;
const MAX_ENTRIES = 10_000;

interface Failures {
  count: number;
  last: number;
}

/** The failures of each account and address, in memory. */
export class Slowdown {
  /** Least recently failed first. */
  readonly #failures = new Map<string, Failures>();
  readonly #clock: () => number;

  constructor({ clock }: { clock: () => number }) {
    this.#clock = clock;
  }

  /** @throws {StatusError} RESOURCE_EXHAUSTED, with google.rpc.RetryInfo, while the account+address must wait. */
  check(namespace: string, account: string, address: string): void {
    const failures = this.#failures.get(keyOf(namespace, account, address));
    if (failures === undefined || failures.count < FREE_FAILURES) return;
    const delay = Math.min(1000 * 2 ** (failures.count - FREE_FAILURES), MAX_DELAY);
    const seconds = Math.ceil((failures.last + delay - this.#clock()) / 1000);
    if (seconds <= 0) return;
    const value = RetryInfo.encode({ retryDelay: { seconds: BigInt(seconds), nanos: 0 } }).finish();
    throw new StatusError(Code.RESOURCE_EXHAUSTED, `Too many failed logins; try again in ${seconds} s`, {
      details: [{ typeUrl: "type.googleapis.com/google.rpc.RetryInfo", value }],
    });
  }

  failed(namespace: string, account: string, address: string): void {
    const key = keyOf(namespace, account, address);
    const now = this.#clock();
    const before = this.#failures.get(key);
    this.#failures.delete(key);
    const count = before === undefined || now - before.last > MEMORY ? 1 : before.count + 1;
    this.#failures.set(key, { count, last: now });
    if (this.#failures.size > MAX_ENTRIES) this.#failures.delete(this.#failures.keys().next().value!);
  }

  succeeded(namespace: string, account: string, address: string): void {
    this.#failures.delete(keyOf(namespace, account, address));
  }
}

function keyOf(namespace: string, account: string, address: string): string {
  return JSON.stringify([namespace, account, networkOf(address)]);
}
