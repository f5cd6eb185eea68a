/**
 * Enrols a service that runs on the authority's machine: writes its token to the data folder, where
 * the service's process reads it. `enrolInStore` does the same from a process that has the store
 * but no authority.
 */

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { createToken, hashToken } from "../../src/call/token.js";
import { writeOnce } from "../../src/folder.js";
import type { KeyValueStore } from "../../src/store/store.js";

import { changeStore } from "./change-store.js";
import { checkName } from "./endpoints/checks.js";
import { checkQuota, enrolmentCreated } from "./endpoints/enrolments.js";
import { type Journal, PORTICO } from "./log/changelog/journal.js";
import type { State } from "./log/state/state.js";

/**
 * Ensures that the file of a service's enrolment token, `enrolment/<name>`, holds a valid token. A
 * revoked token is replaced by a new one, because it would never become valid again.
 * @returns the token.
 * @throws {StatusError} FAILED_PRECONDITION when there are too many enrolments.
 */
export async function enrolLocally(journal: Journal, dataFolder: string, name: string): Promise<string> {
  const file = join(dataFolder, "enrolment", name);
  if (existsSync(file)) {
    const kept = readToken(file);
    if (journal.state.token(hashToken(kept)) !== undefined) return kept;
  }
  rmSync(file, { force: true });
  writeOnce(file, () => createToken("enrolment"));
  const token = readToken(file);
  await journal.commit(PORTICO, (state) => {
    checkQuota(state, name);
    return [enrolmentCreated(name, token, { beside: true })];
  });
  return token;
}

/**
 * Like `enrolLocally`, in a store that authorities of other processes may use at the same time:
 * they follow the log.
 * @returns the token.
 * @throws {StoreError} when the store cannot be used, or no authority has set it up yet.
 * @throws {StatusError} INVALID_ARGUMENT for an invalid service name; also the errors of
 *   `enrolLocally`.
 */
export async function enrolInStore(options: {
  store: KeyValueStore;
  dataFolder: string;
  log: Logger;
  name: string;
}): Promise<string> {
  const { store, dataFolder, log, name } = options;
  checkName("name", name);
  return changeStore(store, log, (journal) => enrolLocally(journal, dataFolder, name));
}

/**
 * Enrols the services that never had an enrolment in this store, so that each can run on this
 * machine in a process of its own. A service whose enrolment was deleted is not enrolled again. If
 * enrolling fails, the log says what to do.
 */
export async function enrolNew(options: {
  journal: Journal;
  dataFolder: string;
  services: readonly string[];
  log: Logger;
}): Promise<void> {
  const { journal, dataFolder, services, log } = options;
  const missing = services.filter((name) => isNew(journal.state, name));
  if (missing.length === 0) return;
  try {
    const tokens = missing.map((name) => {
      const file = join(dataFolder, "enrolment", name);
      const isNewFile = writeOnce(file, () => createToken("enrolment"));
      return { name, token: readToken(file), file, isNewFile };
    });
    await journal.commit(PORTICO, (state) =>
      tokens.flatMap(({ name, token }) =>
        isNew(state, name) ? [enrolmentCreated(name, token, { beside: true })] : [],
      ),
    );
    // Another authority, with a data folder of its own, may have enrolled some of them first.
    const isUseless = ({ token }: { token: string }): boolean => journal.state.token(hashToken(token)) === undefined;
    for (const one of tokens) if (one.isNewFile && isUseless(one)) rmSync(one.file, { force: true });
  } catch (err) {
    const how = "portico auth create enrolment <name> enrols a service that is to run alone";
    log.warn({ err, services: missing }, `services were not enrolled on this machine: ${how}`);
  }
}

/** Whether the store never had an enrolment of that name. A deleted one leaves a key generation. */
function isNew(state: State, name: string): boolean {
  return state.enrolmentsOf(name).length === 0 && !state.keyGenerations.has(name);
}

function readToken(file: string): string {
  return readFileSync(file, "utf8").trim();
}
