/**
 * Measures the cost of a change on each engine of the store, compared with one durable commit on
 * the same server: `node scripts/build.mjs && node --import=tsx bench/store-commits.ts`. It starts
 * its own Postgres, with fsync.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { Test } from "tap";
import { collectionOf, type KeyValue, writesTo } from "../src/store/collection.js";
import { openStore } from "../src/store/open.js";
import { noPostgres, startPostgres } from "../test/support/postgres.js";
import { administrator, call, start } from "../test/support/process.js";

const { expect, create } = writesTo("log");
const ROUNDS = Number(process.env.ROUNDS ?? 1_000);
const VALUE = "x".repeat(300);

const ends: (() => unknown)[] = [];
// In tests, servers end with the test. Here they end with the program.
const ending = { teardown: (end: () => unknown) => ends.unshift(end) } as unknown as Test;

async function measure(name: string, act: (round: number) => Promise<unknown>, rounds = ROUNDS): Promise<void> {
  const times: number[] = [];
  for (let round = -Math.ceil(rounds / 10); round < rounds; round++) {
    const since = performance.now();
    await act(round);
    if (round >= 0) times.push(performance.now() - since);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): string => `${times[Math.floor(share * times.length)]?.toFixed(2)} ms`;
  console.log(
    `${name.padEnd(52)} p50 ${at(0.5).padStart(9)}   p99 ${at(0.99).padStart(9)}   max ${at(0.9999).padStart(9)}`,
  );
}

async function measureStore(name: string, url: string, folder: string): Promise<void> {
  const store = await openStore(url, folder);
  const log = collectionOf(store, "log");
  let previous: KeyValue | undefined;
  await measure(`${name}: create after the entry before it`, async (round) => {
    const entry: KeyValue = [`${round + ROUNDS}`.padStart(16, "0"), VALUE];
    await (previous ? log.commit([expect(previous), create(entry)]) : log.create(...entry));
    previous = entry;
  });
  await log.create("claim", "0");
  await measure(`${name}: replace`, (round) => log.replace("claim", `${round}`));
  await measure(`${name}: replace, not durable`, (round) => log.replace("claim", `${round}`, { durable: false }));
  await measure(`${name}: get`, () => log.get("claim"));
  await store.close();
}

async function measureServer(name: string, url: string, folder: string): Promise<void> {
  const env = { PORTICO_DATA: folder, PORTICO_STORE: url, PORTICO_OWN_SERVICES: "helloworld" };
  const portico = await start(["server"], env);
  ends.unshift(() => portico.stop());
  const http = portico.address("HTTP");
  const headers = await administrator(http, folder);
  const rule = { scope: "*", access: "GRANTED", resource: "service:helloworld:*" };
  const rounds = Math.ceil(ROUNDS / 5);
  await measure(
    `${name}: a rule is created and deleted, by HTTP`,
    async (round) => {
      await call(`${http}/v1/auth/Rules/Create`, { rule: { ...rule, id: `r${round}` } }, headers);
      await call(`${http}/v1/auth/Rules/Delete`, { id: `r${round}` }, headers);
    },
    rounds,
  );
  await portico.stop();
}

if (noPostgres) throw new Error(noPostgres);
const folder = mkdtempSync(join(tmpdir(), "portico-bench-"));
ends.push(() => rmSync(folder, { recursive: true }));
try {
  const server = await startPostgres(ending, { settings: { fsync: "on", shared_buffers: "128MB" } });
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  await client.query("CREATE TABLE bare (key serial PRIMARY KEY, value text)");
  const insert = { name: "insert", text: "INSERT INTO bare (value) VALUES ($1)" };
  await measure("Postgres: one commit, by pg alone", () => client.query({ ...insert, values: [VALUE] }));
  await client.end();
  const database = await server.createDatabase();
  await measureStore("Postgres", server.url(database), join(folder, "a"));
  await measureStore("SQLite", "sqlite:", join(folder, "b"));
  await measureServer("Postgres", server.url(await server.createDatabase()), join(folder, "c"));
  await measureServer("SQLite", "sqlite:", join(folder, "d"));
  const standby = await server.standby();
  await server.set({ synchronous_standby_names: "*" });
  await measureStore("Postgres, standby", server.url(await server.createDatabase()), join(folder, "e"));
  await standby.kill();
} finally {
  for (const end of ends) await end();
}
