/**
 * Attempts to prove the password of an account, for a login or to set another password. Guessing is
 * throttled. Every failure is in the audit trail (failed-logins.ts): a wrong password, and an
 * attempt that the throttle refused.
 */

import { networkOf } from "../../../src/address/client-address.js";
import { Code, StatusError } from "../../../src/errors.js";
import { RetryInfo } from "../../../src/gen/google/rpc/error_details.js";
import type { PasswordHash } from "../../../src/gen/portico/auth/log/v1/log.js";
import type { FailedLogins } from "./failed-logins.js";
import type { Passwords } from "./passwords.js";

/** The account, and the client that gives a password for it. */
export interface LoginAttempt {
  readonly namespace: string;
  readonly account: string;
  /** The client's address. */
  readonly address: string;
  /** The ID of the request, which is also in the gateway's log. */
  readonly requestId: string | undefined;
}

/** Checks passwords for the endpoints that ask for one. */
export class Attempts {
  readonly #passwords: Passwords;
  readonly #throttle: LoginThrottle;
  readonly #failedLogins: FailedLogins;

  constructor(options: { passwords: Passwords; throttle: LoginThrottle; failedLogins: FailedLogins }) {
    this.#passwords = options.passwords;
    this.#throttle = options.throttle;
    this.#failedLogins = options.failedLogins;
  }

  /**
   * Whether the password is the account's.
   * @param readHash returns the account's hash, or undefined if there is no such account; called
   *   when the throttle allows it
   * @throws {StatusError} RESOURCE_EXHAUSTED while the account and address are throttled, or when
   *   too many passwords wait to be checked; what `readHash` throws.
   */
  async verify(
    attempt: LoginAttempt,
    password: string,
    readHash: () => Promise<PasswordHash | undefined>,
  ): Promise<boolean> {
    const { namespace, account, address } = attempt;
    this.#checkThrottle(attempt);
    const hash = await readHash();
    // Checked again when its turn comes, so that many parallel attempts are throttled too.
    const begin = (): void => this.#checkThrottle(attempt);
    if (await this.#passwords.verify(password, hash, { address, begin })) {
      this.#throttle.succeeded(namespace, account, address);
      return true;
    }
    this.#throttle.failed(namespace, account, address);
    this.#failedLogins.add(attempt);
    return false;
  }

  #checkThrottle(attempt: LoginAttempt): void {
    try {
      this.#throttle.check(attempt.namespace, attempt.account, attempt.address);
    } catch (refusal) {
      this.#failedLogins.add(attempt, { refused: true });
      throw refusal;
    }
  }
}

const FREE_FAILURES = 5;
const MAX_DELAY = 15 * 60_000;
/** After this time without a failure, all failures are forgotten, in milliseconds. */
const MEMORY = 60 * 60_000;
const MAX_ENTRIES = 10_000;

interface Failures {
  count: number;
  last: number;
}

/**
 * Throttles the guessing of passwords. After five failures for an account from a client's network
 * (see `networkOf`), each further failure doubles the wait before the next attempt, from one second
 * to 15 minutes. A success resets the count.
 */
export class LoginThrottle {
  /** The entry with the oldest failure first. */
  readonly #failures = new Map<string, Failures>();
  readonly #clock: () => number;

  constructor({ clock }: { clock: () => number }) {
    this.#clock = clock;
  }

  /** @throws {StatusError} RESOURCE_EXHAUSTED, with google.rpc.RetryInfo, while throttled. */
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
