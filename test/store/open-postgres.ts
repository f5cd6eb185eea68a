/** Opens stores on servers of Postgres for tests. */
import type { Test } from "tap";
import { type OpenOptions, openStore } from "../../src/store/open.js";
import type { Store } from "../../src/store/store.js";
import type { PostgresServer } from "../support/postgres.js";
import { temporaryFolder } from "../support/temporary.js";

/** A store that is closed with the test. The default is one on the server's own database. */
export async function openOn(
  t: Test,
  server: PostgresServer,
  { url = server.url(), folder = temporaryFolder(t), ...options }: OpenOptions & { url?: string; folder?: string } = {},
): Promise<Store> {
  const store = await openStore(url, folder, options);
  t.teardown(() => store.close());
  return store;
}

/** The error that something rejects with; undefined where it does not. */
export function errorOf(operation: Promise<unknown>): Promise<Error | undefined> {
  return operation.then(
    () => undefined,
    (error) => error as Error,
  );
}
