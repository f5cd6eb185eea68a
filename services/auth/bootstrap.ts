/**
 * The first start sets up an installation by one entry, the first of the log. Its secrets are written to files before, so
 * a crash in between loses nothing: the next start uses what the files say. So do two processes that start at once on one
 * data folder, of which one writes the entry.
 */

import { randomUUID } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { createToken, hashToken, isToken } from "../../src/call/token.js";
import { ADMIN_SCOPE, DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { writeOnce } from "../../src/folder.js";
import type { PasswordHash } from "../../src/gen/portico/auth/log/v1/log.js";
import { Access } from "../../src/gen/portico/auth/v1/rules.js";
import { FIRST_ENROLMENTS, type Installation, lostInstallation } from "../../src/store/installation.js";
import { refuseServicesLeft } from "../../src/store/open.js";
import { StoreError } from "../../src/store/store.js";

import { contextSecretCreated, enrolmentCreated } from "./endpoints/enrolments.js";
import type { Decide, LogEvent } from "./log/changelog/decide.js";
import { type Journal, PORTICO } from "./log/changelog/journal.js";
import { isPassword, type Passwords, randomPassword } from "./login/passwords.js";

/** What the administrator must be told after a first start. */
export interface FirstStart {
  /** Where the administrator's password is kept. */
  readonly passwordFile: string;
  readonly password: string;
}

/** The account of the administrator, in the namespace `default`. */
export const ADMIN = "admin";

/** Sets the installation up, unless it is. Returns what the administrator must be told; undefined where nothing is new. */
export async function bootstrap(options: {
  journal: Journal;
  store: string;
  /** What the data folder showed before the log was read: another process may be setting it up. */
  installation: Installation | undefined;
  passwords: Passwords;
  dataFolder: string;
  adminPassword: string | undefined;
}): Promise<FirstStart | undefined> {
  const { journal, store, installation, passwords, dataFolder, adminPassword } = options;
  if (journal.state.revision > 0) return undefined;
  // A first start that was cut short leaves files, but no record of the store.
  if (installation !== undefined) {
    const lost = lostInstallation(store, dataFolder, installation);
    throw new StoreError(`store ${store} is without any entry, ${lost}`);
  }
  await refuseServicesLeft(dataFolder);
  const passwordFile = passwordFileIn(dataFolder);
  const created: string[] = [];
  const keep = (file: string, make: () => string, check: (text: string) => boolean): string => {
    if (writeOnce(file, make)) created.push(file);
    const text = readFileSync(file, "utf8").trim();
    if (!check(text)) throw new StoreError(`${file} is not what an earlier start wrote; delete it and start again`);
    return text;
  };
  if (adminPassword !== undefined) rmSync(passwordFile, { force: true });
  const password = adminPassword ?? keep(passwordFile, randomPassword, isPassword);
  const enrolments = FIRST_ENROLMENTS.map((name) => ({
    name,
    token: keep(join(dataFolder, "enrolment", name), () => createToken("enrolment"), isToken),
  }));
  const hash = await passwords.hash(password);
  let first = false;
  await journal.commit(PORTICO, ({ revision }) => {
    first = revision === 0;
    return first ? firstEntry(hash, enrolments) : [];
  });
  if (!first) {
    const ours = enrolments.every(({ token }) => journal.state.token(hashToken(token)) !== undefined);
    if (!ours) for (const file of created) rmSync(file, { force: true });
  }
  return first && adminPassword === undefined ? { passwordFile, password } : undefined;
}

/** Deletes the file with the administrator's first password as soon as another password is set. */
export function deletePasswordFileOnceChanged(options: { journal: Journal; dataFolder: string; log: Logger }): void {
  const { journal, dataFolder, log } = options;
  const hash = () => journal.state.account(DEFAULT_NAMESPACE, ADMIN)?.password?.hash;
  const first = hash();
  const check = (): void => {
    if (first === undefined || hash()?.equals(first)) return;
    unfollow();
    deletePasswordFile(dataFolder, log);
  };
  const unfollow = journal.follow({ changed: check, replaced: check });
}

/** Deletes the file with the administrator's first password, which is good no longer. */
export function deletePasswordFile(dataFolder: string, log: Logger): void {
  const file = passwordFileIn(dataFolder);
  try {
    rmSync(file, { force: true });
  } catch (error) {
    log.warn({ err: error }, `${file} holds a password that is good no longer, and could not be deleted`);
  }
}

/**
 * Says in the log where a setting for the first start is not the administrator's password: whoever has set it since expects
 * that it is.
 */
export async function warnOfUnusedPassword(options: {
  journal: Journal;
  passwords: Passwords;
  adminPassword: string;
  log: Logger;
}): Promise<void> {
  const { journal, passwords, adminPassword, log } = options;
  const account = journal.state.account(DEFAULT_NAMESPACE, ADMIN);
  if (await passwords.verify(adminPassword, account?.password)) return;
  const what = account === undefined ? "there is no account admin" : "it is not the password of the account admin";
  log.warn(
    `PORTICO_ADMIN_PASSWORD counts at the first start only, and ${what}. Remove it; a password is changed by portico user ` +
      "password, and where it is lost by portico recover admin, beside the store",
  );
}

/** The events of the first entry. */
export function firstEntry(password: PasswordHash, enrolments: { name: string; token: string }[]): ReturnType<Decide> {
  const namespace = DEFAULT_NAMESPACE;
  const rule = { id: "default", scope: "<public>", access: Access.GRANTED, resource: "*:*:*", priority: 0 };
  return [
    installationCreated(),
    { $case: "namespaceCreated", value: { name: namespace } },
    { $case: "accountCreated", value: { namespace, name: ADMIN, scopes: [ADMIN_SCOPE], password } },
    { $case: "ruleCreated", value: { namespace, rule } },
    ...enrolments.map(({ name, token }) => enrolmentCreated(name, token, { beside: true })),
    contextSecretCreated(),
  ];
}

/** The event that tells an installation from all others. */
export function installationCreated(): LogEvent {
  return { $case: "installationCreated", value: { id: randomUUID() } };
}

function passwordFileIn(dataFolder: string): string {
  return join(dataFolder, "admin-password");
}
