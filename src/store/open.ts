/** Opens the store that a URL names. Another engine is one more line here, and a file beside sqlite.ts. */
import { join, resolve } from "node:path";
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
  if (!url.startsWith("sqlite:")) throw new StoreError(`store ${url}: only sqlite: is supported`);
  const path = url.slice("sqlite:".length);
  return openSqlite(path === "" ? join(dataFolder, "portico.sqlite") : resolve(path), dataFolder, deadline);
}
