/**
 * Opens the store that a URL names. A new engine needs one line here, and a file next to sqlite.ts.
 */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { lostInstallation, missedInstallation, readInstallation } from "./installation.js";
import { isPostgresUrl } from "./postgres-url.js";
import { FILE_KINDS, fillSqlite, openSqlite } from "./sqlite.js";
import { type Fill, type KeyValueStore, StoreError, type StoreKind } from "./store.js";

/** The default time limit of an operation, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** The files in the data folder that the URL `sqlite:` means. */
const FILES: Readonly<Record<StoreKind, string>> = { authority: "portico.sqlite", services: "services.sqlite" };

const FIRST_ENTRY = { from: "", to: "\u{10ffff}", limit: 1 };

export interface OpenOptions {
  /** The maximum time for an operation, in milliseconds. */
  readonly timeoutMs?: number;
  /**
   * Called with a warning if the store shows that acknowledged changes may be lost, or not seen.
   */
  readonly warn?: (message: string) => void;
  /** Whether an absent store is an error. If not, the store is created. */
  readonly mustExist?: boolean;
  /** Whether a store of an older format is an error. If not, it is upgraded. */
  readonly keepsFormat?: boolean;
  /** Whether this start sets up the installation. Then an absent store is not an error. */
  readonly isNew?: boolean | undefined;
}

/**
 * Opens the store of an authority. `sqlite:` is portico.sqlite in the data folder,
 * `sqlite:/path/to/file` another file, and `postgres://role:password@host/database` a schema in a
 * Postgres database. Creates the store if it is absent and the data folder was never set up.
 * @throws {StoreError} if it is locked, unreadable, damaged, not a store of Portico, or cannot be
 *   reached
 */
export async function openStore(url: string, dataFolder: string, options: OpenOptions = {}): Promise<KeyValueStore> {
  // With `mustExist` the data folder does not matter: an authority never sets it when it starts.
  // The folder is read before the store is opened. A first start creates the store first, and later
  // the files that show that the folder is set up.
  const installation = options.mustExist ? undefined : missedInstallation(dataFolder);
  const lost = (name: string) => installation && `, ${lostInstallation(name, dataFolder, installation)}`;
  return open("authority", url, dataFolder, { ...options, lost });
}

/**
 * Opens the store of services like `openStore`. `sqlite:` is services.sqlite in the data folder.
 * Creates the store if it is absent.
 * @throws {StoreError} if it is locked, unreadable, not a store of Portico's services, or cannot be
 *   reached
 */
export async function openServiceStore(
  url: string,
  dataFolder: string,
  options: OpenOptions = {},
): Promise<KeyValueStore> {
  const { warn = () => {}, isNew = false } = options;
  const file = isPostgresUrl(url) ? undefined : storeFileOf("services", url, dataFolder);
  const isMissed = file !== undefined && !isNew && !existsSync(file) && readInstallation(dataFolder) !== undefined;
  const store = await open("services", url, dataFolder, options);
  if (isMissed) warn(`store ${file} was not there: it is made anew, and empty. If services kept anything, restore it`);
  return store;
}

/** Opens a store of a kind, by `openStore` or `openServiceStore`. */
export function openStoreOf(kind: StoreKind, ...rest: Parameters<typeof openStore>): Promise<KeyValueStore> {
  return kind === "services" ? openServiceStore(...rest) : openStore(...rest);
}

/**
 * @param options `lost` gives the reason why an absent store may not be created: empty, or a comma
 *   and what to do
 */
async function open(
  kind: StoreKind,
  url: string,
  dataFolder: string,
  {
    timeoutMs: deadline = TIMEOUT_MS,
    warn = () => {},
    mustExist = false,
    keepsFormat = false,
    lost = () => undefined,
  }: OpenOptions & { readonly lost?: (name: string) => string | undefined },
): Promise<KeyValueStore> {
  const absent = url === "sqlite:" ? "; --data or PORTICO_DATA names its folder" : "";
  const lostOf = (name: string) => (mustExist ? absent : lost(name));
  if (!isPostgresUrl(url)) {
    const file = storeFileOf(kind, url, dataFolder);
    return openSqlite({ kind: FILE_KINDS[kind], file, timeoutMs: deadline, lost: lostOf(file) });
  }
  // Loaded only if used, because loading it makes the start slower.
  const { openPostgres } = await import("./postgres.js");
  return openPostgres({ kind, url, timeoutMs: deadline, warn, lost: lostOf, keepsFormat });
}

/**
 * Creates the store of a URL and fills it. The store must not exist yet. If filling fails, no
 * process takes the incomplete data for a store.
 * @throws {StoreError} also if the store exists
 */
export async function fillStore(
  kind: StoreKind,
  url: string,
  dataFolder: string,
  { fill, warn }: { readonly fill: Fill; readonly warn: (message: string) => void },
): Promise<void> {
  if (!isPostgresUrl(url)) {
    const file = storeFileOf(kind, url, dataFolder);
    return fillSqlite({ kind: FILE_KINDS[kind], file, timeoutMs: TIMEOUT_MS }, fill);
  }
  const { fillPostgres } = await import("./postgres.js");
  return fillPostgres({ kind, url, timeoutMs: TIMEOUT_MS, warn }, fill);
}

/**
 * Refuses to set up a new installation in a data folder that has data of services. This data
 * belongs to another installation, perhaps one whose own store was lost.
 * @throws {StoreError} with the name of the file
 */
export async function refuseServicesLeft(dataFolder: string): Promise<void> {
  const file = join(dataFolder, FILES.services);
  if (!existsSync(file)) return;
  const store = await openServiceStore("sqlite:", dataFolder, { isNew: true });
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

/**
 * The file of a store in SQLite.
 * @throws {StoreError} if the URL is not a SQLite URL
 */
export function storeFileOf(kind: StoreKind, url: string, dataFolder: string): string {
  return fileOf(url, dataFolder, FILES[kind]);
}

/** @throws {StoreError} if the URL is not a SQLite URL */
function fileOf(url: string, dataFolder: string, usual: string): string {
  if (!url.startsWith("sqlite:"))
    throw new StoreError("the store must be sqlite:, sqlite:/path/to/file or postgres://role:password@host/database");
  const path = url.slice("sqlite:".length);
  return path === "" ? join(dataFolder, usual) : resolve(path);
}
