/**
 * Gives the administrator a new password beside the authority, for whoever has the store: where nobody can log in as
 * `admin` any more, because the password is lost, or the account, or its scope.
 */

import type { Logger } from "pino";
import { ADMIN_SCOPE, DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import type { PasswordHash } from "../../src/gen/portico/auth/log/v1/log.js";
import { otherStore } from "../../src/store/installation.js";
import { type KeyValueStore, StoreError } from "../../src/store/store.js";

import { openBeside } from "./beside.js";
import { ADMIN, deletePasswordFile } from "./bootstrap.js";
import type { Decide } from "./log/changelog/decide.js";
import { PORTICO } from "./log/changelog/journal.js";
import type { State } from "./log/state/state.js";
import { checkPassword, type PasswordCost, Passwords, randomPassword } from "./login/passwords.js";

interface Options {
  readonly store: KeyValueStore;
  readonly dataFolder: string;
  /** The new password; without it, one is made up. */
  readonly password?: string | undefined;
  /** As AuthorityOptions.passwordCost. */
  readonly passwordCost?: PasswordCost | undefined;
  readonly log: Logger;
  /** Told the new password when it is on disk, and guards may still decide by the state before it. */
  readonly onWritten?: (password: string) => void;
}

/**
 * Sets the password of the account `admin`, which ends its logins; makes the account, or gives it the scope `admin`, where it
 * lacks either. Its API keys stay as they are. Once this resolves, no guard decides without the change.
 * @throws {StoreError} when the store cannot be used, is not set up, or the data folder is of another one.
 * @throws {StatusError} INVALID_ARGUMENT for a password that is too short or too long; UNAVAILABLE while changes are
 *   refused, such as on a full disk.
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
  const scopes = state.account(DEFAULT_NAMESPACE, ADMIN)?.scopes;
  if (scopes === undefined)
    return [{ $case: "accountCreated", value: { ...account, scopes: [ADMIN_SCOPE], password } }];
  const set = { $case: "passwordSet" as const, value: { ...account, password } };
  if (scopes.includes(ADMIN_SCOPE)) return [set];
  return [{ $case: "scopesSet", value: { ...account, scopes: [...scopes, ADMIN_SCOPE] } }, set];
}
