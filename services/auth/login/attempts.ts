/**
 * Attempts to show the password of an account, at a login or to set another password. Guessing is slowed down
 * (slowdown.ts), and whatever fails is in the audit trail (failed-logins.ts): a wrong password, and an attempt that the
 * slowdown has refused.
 */
import type { PasswordHash } from "../../../src/gen/portico/auth/log/v1/log.js";
import type { FailedLogins } from "./failed-logins.js";
import type { Passwords } from "./passwords.js";
import type { Slowdown } from "./slowdown.js";

/** Who tries to be whom. */
export interface Attempt {
  readonly namespace: string;
  readonly account: string;
  /** The client's address. */
  readonly address: string;
  /** Of the request, by which its line in the gateway's log is found. */
  readonly requestId: string | undefined;
}

/** Checks passwords for the endpoints that ask for one. */
export class Attempts {
  readonly #passwords: Passwords;
  readonly #slowdown: Slowdown;
  readonly #failedLogins: FailedLogins;

  constructor(options: { passwords: Passwords; slowdown: Slowdown; failedLogins: FailedLogins }) {
    this.#passwords = options.passwords;
    this.#slowdown = options.slowdown;
    this.#failedLogins = options.failedLogins;
  }

  /**
   * Whether the password is the account's.
   * @param readHash gives the account's, undefined where there is no such account; called once the slowdown allows it
   * @throws {StatusError} RESOURCE_EXHAUSTED while the account and address must wait, or when too many passwords wait to
   *   be checked; what `readHash` throws.
   */
  async verify(
    attempt: Attempt,
    password: string,
    readHash: () => Promise<PasswordHash | undefined>,
  ): Promise<boolean> {
    const { namespace, account, address } = attempt;
    this.#checkSlowdown(attempt);
    const hash = await readHash();
    // Checked again when the turn has come: many attempts at once are slowed down all the same.
    const begin = (): void => this.#checkSlowdown(attempt);
    if (await this.#passwords.verify(password, hash, { address, begin })) {
      this.#slowdown.succeeded(namespace, account, address);
      return true;
    }
    this.#slowdown.failed(namespace, account, address);
    this.#failedLogins.add(attempt);
    return false;
  }

  #checkSlowdown(attempt: Attempt): void {
    try {
      this.#slowdown.check(attempt.namespace, attempt.account, attempt.address);
    } catch (refusal) {
      this.#failedLogins.add(attempt, { refused: true });
      throw refusal;
    }
  }
}
