/**
 * Detects that a data folder belongs to an installation. The files `installation-id` and
 * `store-location` show it. They are written when the store contains the installation. So a lost
 * store is never taken for a new installation. A new installation has a public rule, which would
 * open what was closed. If both files are lost, the enrolment tokens that a first start leaves in
 * the folder show it.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeAnew } from "../folder.js";
import { StoreError } from "./store.js";

/**
 * The file with the installation's ID. The stores of its services belong to this ID
 * (owned-services.ts).
 */
const ID_FILE = "installation-id";

/** A first start leaves enrolment tokens with these names in the data folder. */
export const FIRST_ENROLMENTS = ["gateway", "helloworld"];

/** The installation that a data folder belongs to. */
export interface Installation {
  /** The store that the installation was set up with; undefined if the folder does not say. */
  readonly store: string | undefined;
}

/**
 * The installation that the data folder belongs to; undefined if the folder was never set up.
 * @throws {StoreError} if the file cannot be read: the store must not be taken for a new one
 */
export function readInstallation(dataFolder: string): Installation | undefined {
  const file = fileIn(dataFolder);
  try {
    if (existsSync(file)) return { store: readFileSync(file, "utf8").trim() };
  } catch (error) {
    const remedy = "put the file back, or give this user the right to read it";
    throw new StoreError(`${file} cannot be read (${(error as Error).message}); ${remedy}`, { cause: error });
  }
  return existsSync(join(dataFolder, ID_FILE)) ? { store: undefined } : undefined;
}

/**
 * Like `readInstallation`, for a start whose store is absent. A first start makes the store, then
 * writes the enrolment tokens, then the installation. So this also looks for the tokens. Tokens
 * that an operator puts there belong to the roles that run on this machine, so a folder seldom has
 * both names for another reason.
 */
export function missedInstallation(dataFolder: string): Installation | undefined {
  const isLeft = (name: string): boolean => existsSync(join(dataFolder, "enrolment", name));
  return readInstallation(dataFolder) ?? (FIRST_ENROLMENTS.every(isLeft) ? { store: undefined } : undefined);
}

/**
 * Records that the data folder belongs to the installation in this store. The store may be a copy
 * of the earlier one.
 * @returns the earlier store, if it is another one and not a missing file (a moved store leaves no
 *   file behind)
 */
export function recordInstallation(dataFolder: string, store: string): string | undefined {
  const before = readInstallation(dataFolder)?.store;
  if (before === store) return undefined;
  const other = otherStore(dataFolder, store);
  writeAnew(fileIn(dataFolder), store);
  return other;
}

/**
 * The store that the data folder belongs to, if it is another one and not a missing file (a moved
 * store leaves no file behind).
 * @throws {StoreError} like `readInstallation`
 */
export function otherStore(dataFolder: string, store: string): string | undefined {
  const recorded = readInstallation(dataFolder)?.store;
  if (!recorded || recorded === store) return undefined;
  return recorded.includes("://") || existsSync(recorded) ? recorded : undefined;
}

/**
 * The ID of the installation whose authority uses the data folder; undefined if none does.
 * @throws {StoreError} if it cannot be read
 */
export function readInstallationId(dataFolder: string): string | undefined {
  const file = join(dataFolder, ID_FILE);
  try {
    return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
  } catch (error) {
    const remedy = "give this user the right to read it";
    throw new StoreError(`${file} cannot be read (${(error as Error).message}); ${remedy}`, { cause: error });
  }
}

/**
 * Records that an authority of the installation uses the data folder. Data in the folder without an
 * owner then belongs to the installation.
 */
export function recordInstallationId(dataFolder: string, id: string): void {
  if (readInstallationId(dataFolder) !== id) writeAnew(join(dataFolder, ID_FILE), id);
}

/**
 * The error text for a `store` that does not contain the installation: what is wrong and what to
 * do.
 */
export function lostInstallation(store: string, dataFolder: string, installation: Installation): string {
  const where = installation.store === undefined || installation.store === store ? "" : ` in ${installation.store}`;
  return (
    `but the data folder ${dataFolder} belongs to an installation${where}: restore the store from a backup, or name it in ` +
    "PORTICO_STORE. To start anew on purpose, without its accounts and rules, name an empty folder in PORTICO_DATA"
  );
}

function fileIn(dataFolder: string): string {
  return join(dataFolder, "store-location");
}
