/** Opens the stores that URLs name. Another engine is one more line here, and a file beside sqlite.ts. */
import { join, resolve } from "node:path";
import { openServiceSqlite } from "./service-sqlite.js";
import type { ServiceStore } from "./service-store.js";
import { openSqlite } from "./sqlite.js";
import { type Store, StoreError } from "./store.js";

/** How long an operation may take, in milliseconds. */
const DEADLINE = 10_000;

/**
 * Opens a store: `sqlite:` is portico.sqlite in the data folder, `sqlite:/path/to/file` another file.
 * @param deadline how long an operation may take, in milliseconds
 * @throws {StoreError} when it is locked, unreadable, damaged or not a store of Portico.
 */
export async function openStore(url: string, dataFolder: string, deadline: number = DEADLINE): Promise<Store> {
  return openSqlite(fileOf(url, dataFolder, "portico.sqlite"), dataFolder, deadline);
}

/**
 * Opens the store of services: `sqlite:` is services.sqlite in the data folder, `sqlite:/path/to/file` another file.
 * @param deadline how long an operation may take, in milliseconds
 * @throws {StoreError} when it is locked, unreadable, or not a store of Portico's services.
 */
export async function openServiceStore(
  url: string,
  dataFolder: string,
  deadline: number = DEADLINE,
): Promise<ServiceStore> {
  return openServiceSqlite(fileOf(url, dataFolder, "services.sqlite"), deadline);
}

/** @throws {StoreError} unless the URL is one of SQLite. */
function fileOf(url: string, dataFolder: string, usual: string): string {
  if (!url.startsWith("sqlite:")) throw new StoreError(`store ${url}: only sqlite: is supported`);
  const path = url.slice("sqlite:".length);
  return path === "" ? join(dataFolder, usual) : resolve(path);
}
