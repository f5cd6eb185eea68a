/**
 * Sets a new password for the administrator directly in the store. For operators with access to the
 * store when no administrator can log in as `admin`, because the password, the account or its scope
 * is lost.
 */

import type { Logger } from "pino";
import { ADMIN_SCOPE, DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import type { PasswordHash } from "../../src/gen/portico/auth/log/v1/log.js";
import { otherStore } from "../../src/store/installation.js";
import { type KeyValueStore, StoreError } from "../../src/store/store.js";

import { openBeside } from "./beside.js";
import { ADMIN, deletePasswordFile } from "./bootstrap.js";
import type { Decide, LogEvent } from "./log/changelog/decide.js";
import { PORTICO } from "./log/changelog/journal.js";
import type { State } from "./log/state/state.js";
import { checkPassword, type PasswordCost, Passwords, randomPassword } from "./login/passwords.js";

interface Options {
  readonly store: KeyValueStore;
  readonly dataFolder: string;
  /** The new password. Default: a random one. */
  readonly password?: string | undefined;
  /** See AuthorityOptions.passwordCost. */
  readonly passwordCost?: PasswordCost | undefined;
  readonly log: Logger;
  /** Called with the new password once it is on disk. Guards may still decide by the old state. */
  readonly onWritten?: (password: string) => void;
}

/**
 * Sets the password of the account `admin`, which ends its logins. Creates the account, gives it
 * the scope `admin`, or enables it, if that is needed. Its API keys stay as they are. Once this
 * resolves, no guard decides without the change.
 * @throws {StoreError} when the store cannot be used or is not set up, or when the data folder
 *   belongs to another store.
 * @throws {StatusError} INVALID_ARGUMENT for a password that is too short or too long; UNAVAILABLE
 *   while changes are refused, for example because the disk is full.
 */
export async function recoverAdmin(options: Options): Promise<void> {
  const { store, dataFolder, password = randomPassword(), passwordCost, log, onWritten } = options;
  checkPassword("password", password);
  const other = otherStore(dataFolder, store.name);
  if (other !== undefined) {
    const remedy = "name the folder of this store in PORTICO_DATA, or that store in PORTICO_STORE";
    throw new StoreError(`the data folder ${dataFolder} belongs to store ${other}, not to ${store.name}; ${remedy}`);
  }
  const { journal, settled, close } = await openBeside({ store, log });
  try {
    const hash = await new Passwords(passwordCost).hash(password);
    const revision = await journal.commit(PORTICO, (state) => recovery(state, hash));
    onWritten?.(password);
    deletePasswordFile(dataFolder, log);
    await settled(revision);
  } finally {
    await close();
  }
}

function recovery(state: State, password: PasswordHash): ReturnType<Decide> {
  const account = { namespace: DEFAULT_NAMESPACE, name: ADMIN };
  const { scopes, disabled } = state.account(DEFAULT_NAMESPACE, ADMIN) ?? {};
  if (scopes === undefined)
    return [{ $case: "accountCreated", value: { ...account, scopes: [ADMIN_SCOPE], password } }];
  const events: LogEvent[] = [{ $case: "passwordSet", value: { ...account, password } }];
  if (disabled) events.unshift({ $case: "accountEnabled", value: account });
  if (scopes.includes(ADMIN_SCOPE)) return events;
  return [{ $case: "scopesSet", value: { ...account, scopes: [...scopes, ADMIN_SCOPE] } }, ...events];
}
