/** Opens the stores that URLs name. Another engine is one more line here, and a file beside sqlite.ts. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readInstallation } from "./installation.js";
import { isPostgresUrl } from "./postgres-url.js";
import { fillServiceSqlite, openServiceSqlite } from "./service-sqlite.js";
import type { FillServices, ServiceStore } from "./service-store.js";
import { fillSqlite, openSqlite } from "./sqlite.js";
import { type Fill, type Store, StoreError } from "./store.js";

/** How long an operation may take, in milliseconds. */
const DEADLINE = 10_000;

/** The files that `sqlite:` means, in the data folder. */
const AUTHORITY_FILE = "portico.sqlite";
const SERVICES_FILE = "services.sqlite";

const FIRST_ENTRY = { from: "", to: "\u{10ffff}", limit: 1 };

/** How a store is opened. */
export interface OpenOptions {
  /** How long an operation may take, in milliseconds. */
  readonly deadline?: number;
  /** Told what puts acknowledged changes at risk, or lets them be missed, as far as the store shows it. */
  readonly warn?: (message: string) => void;
  /** Whether a store that is absent is an error. Else it is made. */
  readonly mustExist?: boolean;
  /** Whether this start sets the installation up: then a store that is absent is not missed. */
  readonly isNew?: boolean | undefined;
}

/**
 * Opens a store: `sqlite:` is portico.sqlite in the data folder, `sqlite:/path/to/file` another file, and
 * `postgres://role:password@host/database` a database of Postgres.
 * @throws {StoreError} when it is locked, unreadable, damaged, not a store of Portico, or cannot be reached.
 */
export async function openStore(
  url: string,
  dataFolder: string,
  { deadline = DEADLINE, warn = () => {}, mustExist = false }: OpenOptions = {},
): Promise<Store> {
  if (!isPostgresUrl(url)) {
    return openSqlite(fileOf(url, dataFolder, AUTHORITY_FILE), dataFolder, { deadline, mustExist });
  }
  // Loaded only where it is used: it makes a start take longer.
  const { openPostgres } = await import("./postgres.js");
  return openPostgres({ url, dataFolder, deadline, warn, mustExist });
}

/**
 * Makes the store of a URL, which must be absent. It is there once it is filled; should that fail, no authority takes what
 * was written for a store.
 * @throws {StoreError} also where it is there.
 */
export async function fillStore(url: string, dataFolder: string, fill: Fill, warn: (message: string) => void) {
  if (!isPostgresUrl(url)) return fillSqlite(fileOf(url, dataFolder, AUTHORITY_FILE), DEADLINE, fill);
  const { fillPostgres } = await import("./postgres.js");
  return fillPostgres({ url, dataFolder, deadline: DEADLINE, warn, mustExist: false }, fill);
}

/**
 * Opens the store of services: `sqlite:` is services.sqlite in the data folder, `sqlite:/path/to/file` another file, and
 * `postgres://role:password@host/database` a schema of its own in a database of Postgres.
 * @throws {StoreError} when it is locked, unreadable, not a store of Portico's services, or cannot be reached.
 */
export async function openServiceStore(
  url: string,
  dataFolder: string,
  { deadline = DEADLINE, warn = () => {}, mustExist = false, isNew = false }: OpenOptions = {},
): Promise<ServiceStore> {
  if (!isPostgresUrl(url)) {
    const file = fileOf(url, dataFolder, SERVICES_FILE);
    const isMissed = !isNew && !existsSync(file) && readInstallation(dataFolder) !== undefined;
    const store = await openServiceSqlite(file, deadline, mustExist);
    if (isMissed)
      warn(`store ${file} was not there: it is made anew, and empty. If services kept anything, restore it`);
    return store;
  }
  const { openServicePostgres } = await import("./service-postgres.js");
  return openServicePostgres({ url, deadline, warn, mustExist });
}

/**
 * Makes the store of services of a URL, which must be absent. It is there once it is filled; should that fail, no service
 * takes what was written for a store.
 * @throws {StoreError} also where it is there.
 */
export async function fillServiceStore(
  url: string,
  dataFolder: string,
  fill: FillServices,
  warn: (message: string) => void,
): Promise<void> {
  if (!isPostgresUrl(url)) return fillServiceSqlite(fileOf(url, dataFolder, SERVICES_FILE), DEADLINE, fill);
  const { fillServicePostgres } = await import("./service-postgres.js");
  return fillServicePostgres({ url, deadline: DEADLINE, warn, mustExist: false }, fill);
}

/**
 * Refuses to set up a new installation in a data folder that has data of services: it is another installation's, perhaps of
 * one whose own store was lost.
 * @throws {StoreError} naming the file.
 */
export async function refuseServicesLeft(dataFolder: string): Promise<void> {
  const file = join(dataFolder, SERVICES_FILE);
  if (!existsSync(file)) return;
  const store = await openServiceSqlite(file, DEADLINE);
  try {
    const isFree = (await store.owner()) === undefined && (await store.range(FIRST_ENTRY)).entries.length === 0;
    if (isFree) return;
  } finally {
    await store.close();
  }
  throw new StoreError(
    `store ${file} has data of services, and this start would set up a new installation beside it: put the store of its own ` +
      "installation back, or name that in PORTICO_STORE. To start anew on purpose, name an empty folder in PORTICO_DATA, or " +
      "move the file away",
  );
}

/** @throws {StoreError} unless the URL is one of SQLite. */
export function serviceFileOf(url: string, dataFolder: string): string {
  return fileOf(url, dataFolder, SERVICES_FILE);
}

/** @throws {StoreError} unless the URL is one of SQLite. */
function fileOf(url: string, dataFolder: string, usual: string): string {
  if (!url.startsWith("sqlite:"))
    throw new StoreError("the store must be sqlite:, sqlite:/path/to/file or postgres://role:password@host/database");
  const path = url.slice("sqlite:".length);
  return path === "" ? join(dataFolder, usual) : resolve(path);
}
