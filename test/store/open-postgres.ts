/** Opens stores on servers of Postgres for tests. */

import type { Test } from "tap";
import { type OpenOptions, openStore } from "../../src/store/open.js";
import type { KeyValueStore } from "../../src/store/store.js";
import type { PostgresServer } from "../support/postgres.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";

/** A store that is closed with the test. The default is one on the server's own database. */
export async function openOn(
  t: Test,
  server: PostgresServer,
  { url = server.url(), folder = temporaryFolder(t), ...options }: OpenOptions & { url?: string; folder?: string } = {},
): Promise<KeyValueStore> {
  const store = await openStore(url, folder, options);
  t.teardown(() => store.close());
  return store;
}

/** What an operation gives that a busy machine may not answer within the store's deadline: it is made until it is answered. */
export async function answerOf<T>(operation: () => Promise<T>): Promise<T> {
  const responses: T[] = [];
  await until(async () => (await errorOf(operation().then((response) => responses.push(response)))) === undefined);
  return responses[0] as T;
}

/** The error that something rejects with; undefined where it does not. */
export function errorOf(operation: Promise<unknown>): Promise<Error | undefined> {
  return operation.then(
    () => undefined,
    (error) => error as Error,
  );
}
