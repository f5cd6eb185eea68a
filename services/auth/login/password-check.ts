/** Checks the password of an account, for everything that a password is exchanged for. */
import { MAX_ACCOUNT_NAME, MAX_NAME } from "../../../src/contract/names.js";
import { type StatusError, unauthenticated } from "../../../src/errors.js";
import type { PasswordHash } from "../../../src/gen/portico/auth/log/v1/log.js";
import { disabledDetail } from "../endpoints/checks.js";
import type { Changes } from "../log/changelog/changes.js";
import type { State } from "../log/state/state.js";
import type { Attempts, LoginAttempt } from "./attempts.js";

export interface PasswordChecks {
  readonly changes: Changes;
  readonly attempts: Attempts;
}

/**
 * The hash that the password matches; undefined for an unknown account and a wrong password.
 * @throws {StatusError} RESOURCE_EXHAUSTED while the account and address are throttled.
 */
export async function matchedHash(
  { changes, attempts }: PasswordChecks,
  attempt: LoginAttempt,
  password: string,
): Promise<PasswordHash | undefined> {
  const { namespace, account } = attempt;
  // No account has so long a name. Failures are counted by name, and long names would take memory.
  if (account.length > MAX_ACCOUNT_NAME || namespace.length > MAX_NAME) return undefined;
  let hash: PasswordHash | undefined;
  const readHash = async (): Promise<PasswordHash | undefined> => {
    await changes.sync();
    hash = changes.state.account(namespace, account)?.password;
    return hash;
  };
  return (await attempts.verify(attempt, password, readHash)) ? hash : undefined;
}

/**
 * Must be called with the change that the password is exchanged for: the account may have been
 * deleted or disabled, or got another password, while the password was checked.
 * @throws {StatusError} UNAUTHENTICATED
 */
export function checkMatchStill(state: State, { namespace, account }: LoginAttempt, hash: PasswordHash): void {
  const { password, disabled } = state.account(namespace, account) ?? {};
  if (!password?.hash.equals(hash.hash)) throw wrongPassword();
  // Only whoever knows the password learns it.
  if (disabled) throw unauthenticated(disabledDetail(account));
}

/** One error for an unknown account and a wrong password: it must not show which accounts exist. */
export function wrongPassword(): StatusError {
  return unauthenticated("Wrong account or password");
}
