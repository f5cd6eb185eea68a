/**
 * What shows that a data folder belongs to an installation: the files `installation-id` and `store-location`, written when the
 * store holds the installation. So a store that is gone is never taken for a fresh installation, whose public rule would
 * open what was closed. Where both are gone, the enrolment tokens that a first start leaves show it.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeAnew } from "../folder.js";
import { StoreError } from "./store.js";

/** The file with the installation's ID: stores of services belong to it (owned-services.ts). */
const ID_FILE = "installation-id";

/** The names whose enrolment tokens a first start leaves in the data folder. */
export const FIRST_ENROLMENTS = ["gateway", "helloworld"];

/** What a data folder says of the installation that it belongs to. */
export interface Installation {
  /** The store that it was set up with; undefined where the folder does not say. */
  readonly store: string | undefined;
}

/**
 * The installation that the data folder belongs to; undefined where the folder was never set up.
 * @throws {StoreError} where that cannot be read: the store must not be taken for a new one.
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
 * As `readInstallation`, for a start whose store is absent: then also by what a first start writes before the installation is
 * in the store, which it makes before. Tokens given by hand are those of what runs here, so seldom both of these.
 */
export function missedInstallation(dataFolder: string): Installation | undefined {
  const isLeft = (name: string): boolean => existsSync(join(dataFolder, "enrolment", name));
  return readInstallation(dataFolder) ?? (FIRST_ENROLMENTS.every(isLeft) ? { store: undefined } : undefined);
}

/**
 * Records that the data folder belongs to the installation in the store, which may be a copy of the one before.
 * @returns the store before, where it was another one and is no file that has gone, as one is that was moved.
 */
export function recordInstallation(dataFolder: string, store: string): string | undefined {
  const before = readInstallation(dataFolder)?.store;
  if (before === store) return undefined;
  const other = otherStore(dataFolder, store);
  writeAnew(fileIn(dataFolder), store);
  return other;
}

/**
 * The store that the data folder belongs to, where that is another one, and no file that has gone, as one is that was moved.
 * @throws {StoreError} as `readInstallation`
 */
export function otherStore(dataFolder: string, store: string): string | undefined {
  const recorded = readInstallation(dataFolder)?.store;
  if (!recorded || recorded === store) return undefined;
  return recorded.includes("://") || existsSync(recorded) ? recorded : undefined;
}

/**
 * The ID of the installation whose authority uses the data folder; undefined where none does.
 * @throws {StoreError} when it cannot be read.
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

/** Records that an authority of the installation uses the data folder: data without an owner in it is the installation's. */
export function recordInstallationId(dataFolder: string, id: string): void {
  if (readInstallationId(dataFolder) !== id) writeAnew(join(dataFolder, ID_FILE), id);
}

/** What is wrong and what to do, where `store` holds nothing of the installation. */
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
