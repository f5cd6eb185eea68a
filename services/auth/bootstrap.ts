/**
 * The first start sets up an installation by one entry, the first of the log. It writes the secrets
 * to files before that entry. So a crash in between loses nothing: the next start uses the secrets
 * in the files. Two processes that start at the same time on one data folder also use the same
 * files; one of the two writes the entry.
 */

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { createToken, hashToken, isToken } from "../../src/call/token.js";
import { ADMIN_SCOPE, DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { writeOnce } from "../../src/folder.js";
import type { PasswordHash } from "../../src/gen/portico/auth/log/v1/log.js";
import { Access } from "../../src/gen/portico/auth/v1/rules.js";
import { FIRST_ENROLMENTS, lostInstallation, readInstallation } from "../../src/store/installation.js";
import { refuseServicesLeft } from "../../src/store/open.js";
import { StoreError } from "../../src/store/store.js";

import { contextSecretCreated, enrolmentCreated } from "./endpoints/enrolments.js";
import type { Decide, LogEvent } from "./log/changelog/decide.js";
import { type Journal, PORTICO } from "./log/changelog/journal.js";
import { isPassword, type Passwords, randomPassword } from "./login/passwords.js";

/** What to show to the administrator, unless an earlier start has shown it. */
export interface FirstStart {
  /** The file with the administrator's password. */
  readonly passwordFile: string;
  readonly password: string;
}

/** The administrator's account, in the namespace `default`. */
export const ADMIN = "admin";

/**
 * Sets up the installation if it is new.
 * @returns what to show to the administrator; undefined if there is no random password, or if an
 * earlier start has shown it
 */
export async function bootstrap(options: {
  journal: Journal;
  store: string;
  passwords: Passwords;
  dataFolder: string;
  adminPassword: string | undefined;
  log: Logger;
}): Promise<FirstStart | undefined> {
  const { journal, store, passwords, dataFolder, adminPassword } = options;
  if (journal.state.revision > 0) return unshownPassword(options);
  try {
    await refuseIfNotNew(store, dataFolder);
  } catch (refusal) {
    // Another process may have set up the installation after the log was read here. It writes the
    // entry before the files that show an installation, so the entry can be read now.
    await journal.sync();
    if (journal.state.revision === 0) throw refusal;
    return undefined;
  }
  const passwordFile = passwordFileIn(dataFolder);
  const created: string[] = [];
  const readOrCreate = (file: string, make: () => string, check: (text: string) => boolean): string => {
    if (writeOnce(file, make)) created.push(file);
    const text = readFileSync(file, "utf8").trim();
    if (!check(text)) throw new StoreError(`${file} is not what an earlier start wrote; delete it and start again`);
    return text;
  };
  if (adminPassword === undefined) writeOnce(unshownFileIn(dataFolder), () => UNSHOWN);
  else rmSync(passwordFile, { force: true });
  const password = adminPassword ?? readOrCreate(passwordFile, randomPassword, isPassword);
  const enrolments = FIRST_ENROLMENTS.map((name) => ({
    name,
    token: readOrCreate(join(dataFolder, "enrolment", name), () => createToken("enrolment"), isToken),
  }));
  const hash = await passwords.hash(password);
  let first = false;
  await journal.commit(PORTICO, ({ revision }) => {
    first = revision === 0;
    return first ? firstEntry(hash, enrolments) : [];
  });
  if (!first) {
    await unshownPassword(options);
    const ours = enrolments.every(({ token }) => journal.state.token(hashToken(token)) !== undefined);
    if (!ours) for (const file of created) rmSync(file, { force: true });
  }
  return first && adminPassword === undefined ? { passwordFile, password } : undefined;
}

/**
 * Refuses to set up a store without entries if the data folder already belongs to an installation.
 * @throws {StoreError} with what to do
 */
async function refuseIfNotNew(store: string, dataFolder: string): Promise<void> {
  // A first start that was interrupted leaves files, but no record of the store.
  const installation = readInstallation(dataFolder);
  if (installation !== undefined) {
    const lost = lostInstallation(store, dataFolder, installation);
    throw new StoreError(`store ${store} is without any entry, ${lost}`);
  }
  await refuseServicesLeft(dataFolder);
}

/**
 * The password of a first start that ended before it showed the password, for example because a
 * port was in use. Deletes its file if the password is not the administrator's: another process may
 * have set up the store with another one, or set another one since.
 */
async function unshownPassword(options: {
  journal: Journal;
  passwords: Passwords;
  dataFolder: string;
  log: Logger;
}): Promise<FirstStart | undefined> {
  const { journal, passwords, dataFolder, log } = options;
  const passwordFile = passwordFileIn(dataFolder);
  if (!existsSync(unshownFileIn(dataFolder))) return undefined;
  const password = existsSync(passwordFile) ? readFileSync(passwordFile, "utf8").trim() : "";
  const account = journal.state.account(DEFAULT_NAMESPACE, ADMIN);
  if (await passwords.verify(password, account?.password)) return { passwordFile, password };
  deletePasswordFile(dataFolder, log);
  return undefined;
}

/** Called when the administrator's first password was shown: later starts do not show it. */
export function passwordShown(dataFolder: string): void {
  rmSync(unshownFileIn(dataFolder), { force: true });
}

/** Deletes the file with the administrator's first password as soon as the password changes. */
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

/** Deletes the file with the administrator's first password, which is no longer valid. */
export function deletePasswordFile(dataFolder: string, log: Logger): void {
  const file = passwordFileIn(dataFolder);
  try {
    rmSync(file, { force: true });
    passwordShown(dataFolder);
  } catch (error) {
    log.warn({ err: error }, `${file} holds a password that is good no longer, and could not be deleted`);
  }
}

/**
 * Warns in the log if PORTICO_ADMIN_PASSWORD is not the administrator's password. Only the first
 * start uses the setting, but an operator who sets it later expects it to be the password.
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

/** The events of the log's first entry. */
export function firstEntry(password: PasswordHash, enrolments: { name: string; token: string }[]): ReturnType<Decide> {
  const namespace = DEFAULT_NAMESPACE;
  const rule = {
    id: "default",
    scope: "<public>",
    access: Access.GRANTED,
    resource: "*:*:*",
    priority: 0,
    disabled: false,
  };
  return [
    installationCreated(),
    { $case: "namespaceCreated", value: { name: namespace } },
    { $case: "accountCreated", value: { namespace, name: ADMIN, scopes: [ADMIN_SCOPE], password } },
    { $case: "ruleCreated", value: { namespace, rule } },
    ...enrolments.map(({ name, token }) => enrolmentCreated(name, token, { beside: true })),
    contextSecretCreated(),
  ];
}

/** The event that gives the installation its ID. */
export function installationCreated(): LogEvent {
  return { $case: "installationCreated", value: { id: randomUUID() } };
}

function passwordFileIn(dataFolder: string): string {
  return join(dataFolder, "admin-password");
}

/** The file that exists from a first start until the password was shown. */
function unshownFileIn(dataFolder: string): string {
  return join(dataFolder, "admin-password-unshown");
}

const UNSHOWN = "The next start of Portico shows the password in admin-password, and deletes this file.";
