/** Opens stores on Postgres servers for tests. */

import type { Test } from "tap";
import { type OpenOptions, openStore } from "../../src/store/open.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { type PostgresServer, startPostgres } from "../support/postgres.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";

/** A store that is closed with the test. By default it uses the server's own database. */
export async function openOn(
  t: Test,
  server: PostgresServer,
  { url = server.url(), folder = temporaryFolder(t), ...options }: OpenOptions & { url?: string; folder?: string } = {},
): Promise<KeyValueStore> {
  const store = await openStore(url, folder, options);
  t.teardown(() => store.close());
  return store;
}

/**
 * The result of an operation that is repeated until it succeeds: a busy machine may not respond
 * within the store's deadline.
 */
export async function answerOf<T>(operation: () => Promise<T>): Promise<T> {
  const responses: T[] = [];
  await until(async () => (await errorOf(operation().then((response) => responses.push(response)))) === undefined);
  return responses[0] as T;
}

/** The error that the promise rejects with; undefined if it resolves. */
export function errorOf(operation: Promise<unknown>): Promise<Error | undefined> {
  return operation.then(
    () => undefined,
    (error) => error as Error,
  );
}

/** A primary with a standby that every commit waits for. */
export async function replicated(t: Test): Promise<{ primary: PostgresServer; standby: PostgresServer }> {
  const primary = await startPostgres(t);
  const standby = await primary.standby();
  await primary.set({ synchronous_standby_names: "*" });
  return { primary, standby };
}
