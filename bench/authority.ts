/**
 * Measures an authority with many API keys: `node --import=tsx bench/authority.ts [keys] [accounts]
 * [rules]`. The authority's own journal writes the log, with a hundred events in each entry. Each
 * phase is a process of its own.
 *
 *     fill     writes the log; prints the store's size
 *     start    opens the authority, and calls it: time, memory,
 *              the longest stall of the event loop in each step
 *
 * A stall is printed twice. First as time, in which the process may have waited for a core of a
 * busy machine. Then as processor time of the main thread between two timers, if Linux provides it.
 * PORTICO_STORE names another store than a SQLite file.
 */

import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import pg from "pg";
import pino from "pino";
import { openAuthority } from "../services/auth/authority.js";
import { firstEntry } from "../services/auth/bootstrap.js";
import { ChangeLog } from "../services/auth/log/changelog/change-log.js";
import { Journal, PORTICO } from "../services/auth/log/changelog/journal.js";
import { KnownCaller } from "../src/access/callers/known-caller.js";
import { hashToken } from "../src/call/token.js";
import { Code } from "../src/errors.js";
import type { Event } from "../src/gen/portico/auth/log/v1/log.js";
import { Access } from "../src/gen/portico/auth/v1/rules.js";
import { type BuiltInContext, grpcServiceOf } from "../src/rpc/service.js";
import { collectionOf } from "../src/store/collection.js";
import { openStore } from "../src/store/open.js";
import { toTimestamp } from "../src/time.js";
import { bundleInto } from "../test/support/bundle.js";

type Events = NonNullable<Event["event"]>;

const ACCOUNTS_A_NAMESPACE = 10_000;
const EVENTS_AN_ENTRY = 100;
const DAY = 24 * 60 * 60_000;
const log = pino({ level: process.env.LOG ?? "error" }, pino.destination(2));
const PASSWORD = { salt: randomBytes(16), hash: randomBytes(32), n: 16_384, r: 8, p: 5 };
const store = process.env.PORTICO_STORE ?? "sqlite:";

const [phase = "", folder = "", ...counts] = process.argv.slice(2);
if (phase === "fill") await fill(folder, counts.map(Number));
else if (phase === "start") await start(folder, counts.map(Number));
else await run(process.argv.slice(2));

async function run([keys = "1000000", accounts = "100000", rules = "10000"]: string[]): Promise<void> {
  const root = join(import.meta.dirname, "node_modules");
  mkdirSync(root, { recursive: true });
  const place = mkdtempSync(join(root, ".authority-"));
  try {
    const program = await bundleInto(place, join(import.meta.dirname, "authority.ts"));
    const data = join(place, "data");
    mkdirSync(data);
    for (const step of ["fill", "start"]) {
      const args = ["--expose-gc", program, step, data, keys, accounts, rules];
      const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
      if (status !== 0) throw new Error(`${step} failed`);
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function fill(folder: string, [keys = 0, accounts = 0, rules = 0]: number[]): Promise<void> {
  const opened = await openStore(store, folder);
  const clock = { now: Date.now, check: () => undefined };
  const journal = await Journal.open({ log: new ChangeLog({ store: opened, log }), logger: log, clock });
  await journal.commit(PORTICO, () => firstEntry(PASSWORD, []));
  await timed(`writing ${keys} keys, ${accounts} accounts, ${rules} rules`, async () => {
    for (const events of batches(eventsOf(keys, accounts, rules))) await journal.commit(PORTICO, () => events);
  });
  await journal.close();
  await opened.close();
  print("store", `${mib(await sizeOf(folder))} MiB`);
}

function* eventsOf(keys: number, accounts: number, rules: number): Generator<Events> {
  const nameOf = (account: number) => `user${account}@example.com`;
  for (let at = 0; at < accounts; at++) {
    const namespace = namespaceOf(at);
    if (at % ACCOUNTS_A_NAMESPACE === 0) yield { $case: "namespaceCreated", value: { name: namespace } };
    const scopes = [`team${at % 100}`];
    yield { $case: "accountCreated", value: { namespace, name: nameOf(at), scopes, password: PASSWORD } };
  }
  for (let at = 0; at < rules; at++) {
    const resource = `service:service${at % 1_000}:Endpoint${at}.Call`;
    const rule = {
      id: `rule${at}`,
      scope: `team${at % 100}`,
      access: Access.GRANTED,
      resource,
      priority: at % 5,
      disabled: false,
    };
    yield { $case: "ruleCreated", value: { namespace: "default", rule } };
  }
  for (let at = 0; at < keys; at++) {
    const secret = keyOf(at);
    const owner = at % accounts;
    const value = {
      sha256: hashToken(secret),
      prefix: secret.slice(0, 10),
      namespace: namespaceOf(owner),
      account: nameOf(owner),
      name: `nightly report ${at % 100}`,
      created: toTimestamp(Date.now()),
      expires: toTimestamp(Date.now() + 90 * DAY + at),
      lastUsed: undefined,
      resources: [],
      from: [],
      lifetimeMs: BigInt(90 * DAY),
    };
    yield { $case: "keyCreated", value: { key: value } };
  }
}

async function start(folder: string, [keys = 0, accounts = 0]: number[]): Promise<void> {
  const opened = await openStore(store, folder);
  const authority = await timed("start", () =>
    openAuthority({ store: opened, dataFolder: folder, maxRules: 100_000, leaseMs: 5_000, log }),
  );
  printMemory();
  const call = (service: string, method: string, request: unknown, caller?: KnownCaller) => {
    const part = authority.service.parts.find((each) => grpcServiceOf(each) === `portico.auth.v1.${service}`);
    if (part === undefined || "load" in part) throw new Error(`the authority has no ${service}`);
    return part.implementation[method]?.(request, {
      caller,
      clientAddress: "",
      metadata: [],
    } as unknown as BuiltInContext);
  };
  const callerOf = async (key: number): Promise<KnownCaller> => {
    const sha256 = hashToken(keyOf(key));
    const { results } = await call("Policy", "batchResolve", { sha256: [sha256] });
    return new KnownCaller(sha256, results[0].caller, 0);
  };
  const lookups = 20_000;
  await timed(`${lookups} x Policy.BatchResolve of one`, async () => {
    for (let count = 0; count < lookups; count++) await callerOf((count * 7_919) % keys);
  });
  const admin = Object.assign(await callerOf(accounts - 1), { scopes: ["admin"] }) as KnownCaller;
  await timed("all pages of keys in a namespace", async () => print("keys", await listed(call, "Keys", "keys", admin)));
  await timed("all pages of accounts", async () =>
    print("accounts", await listed(call, "Accounts", "accounts", admin)),
  );
  await timed("audit", async () => call("Audit", "list", { before: 0n, limit: 100 }, admin));
  const bare = collectionOf(opened, "usage");
  await rate("one durable commit of the store", 1, (number) => bare.create(`bare ${number}`, "x".repeat(300)));
  const owners = await Promise.all(Array.from({ length: 1_000 }, (_, at) => callerOf(at * 7)));
  for (const atOnce of [1, 16, 64]) {
    await rate(`Keys.Create, ${atOnce} at once`, atOnce, async (number) => {
      const owner = owners[number % owners.length]!;
      const request = { name: "more", lifetime: { seconds: 86_400n, nanos: 0 }, resources: [] };
      try {
        await call("Keys", "create", request, owner);
      } catch (error) {
        // By chance it got the same prefix as another key.
        if ((error as { code?: unknown }).code !== Code.ABORTED) throw error;
        await call("Keys", "create", request, owner);
      }
    });
  }
  printMemory();
  await authority.close();
  await opened.close();
  print("store", `${mib(await sizeOf(folder))} MiB`);
}

async function listed(
  call: (service: string, method: string, request: unknown, caller: KnownCaller) => unknown,
  service: string,
  field: string,
  caller: KnownCaller,
): Promise<string> {
  let [count, pages, pageToken] = [0, 0, ""];
  const started = performance.now();
  do {
    const request = { pageSize: 0, pageToken };
    const page = (await call(service, "list", request, caller)) as Record<string, unknown> & { nextPageToken?: string };
    count += (page[field] as unknown[]).length;
    pages++;
    pageToken = page.nextPageToken ?? "";
  } while (pageToken !== "");
  return `${count} in ${pages} pages, ${((performance.now() - started) / pages).toFixed(1)} ms each`;
}

/**
 * Runs an action for three seconds, `atOnce` times in parallel. Prints how many ran in each second,
 * and how long each took.
 */
async function rate(what: string, atOnce: number, act: (number: number) => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  let begun = 0;
  const late = performance.now() + 3_000;
  const repeat = async (): Promise<void> => {
    while (performance.now() < late) {
      const since = performance.now();
      await act(begun++);
      times.push(performance.now() - since);
    }
  };
  await timed(what, () => Promise.all(Array.from({ length: atOnce }, repeat)));
  times.sort((a, b) => a - b);
  const at = (share: number): string => `${times[Math.floor(share * times.length)]?.toFixed(2)} ms`;
  print(what, `${Math.round(times.length / 3)} /s, each p50 ${at(0.5)}, p99 ${at(0.99)}`);
}

/** Prints how long the work took, and the longest time in which the event loop did nothing else. */
async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, 20)); // The delay before the first tick is not counted.
  const longest = watchTurns();
  const started = performance.now();
  const result = await work();
  const ms = performance.now() - started;
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.disable();
  const stall = `longest stall ${(delay.max / 1e6 - 5).toFixed(0)} ms, ${longest().toFixed(0)} ms of processor time`;
  print(what, `${(ms / 1000).toFixed(2)} s, ${stall}`);
  return result;
}

/**
 * Returns a function that returns the maximum processor time, in milliseconds, that the main thread
 * has used between two timers.
 */
function watchTurns(): () => number {
  const file = `/proc/self/task/${process.pid}/schedstat`;
  const read = (): number => Number(readFileSync(file, "latin1").split(" ")[0]) / 1e6;
  let [last, most] = [read(), 0];
  const look = (): void => {
    const now = read();
    most = Math.max(most, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  return () => {
    clearInterval(timer);
    look();
    return most;
  };
}

function printMemory(): void {
  const peak = process.resourceUsage().maxRSS / 1024;
  const { rss: before } = process.memoryUsage();
  globalThis.gc?.();
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  print(
    "memory",
    `${mib(before)} MiB resident, ${mib(rss)} after a collection, ${peak.toFixed(0)} at most; ` +
      `heap ${mib(heapUsed)}, buffers ${mib(external)} (${mib(arrayBuffers)})`,
  );
}

function* batches(events: Iterable<Events>): Generator<Events[]> {
  let batch: Events[] = [];
  for (const event of events) {
    batch.push(event);
    if (batch.length === EVENTS_AN_ENTRY) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** The same key in each process, so that a later process knows the keys. */
function keyOf(index: number): string {
  return `ptk_${String(index * 104_729 + 1_000_000)
    .padStart(43, "x")
    .split("")
    .reverse()
    .join("")}`;
}

function namespaceOf(account: number): string {
  return `company${Math.floor(account / ACCOUNTS_A_NAMESPACE)}`;
}

async function sizeOf(folder: string): Promise<number> {
  if (store.startsWith("postgres")) {
    const client = new pg.Client({ connectionString: store });
    await client.connect();
    const { rows } = await client.query("SELECT pg_database_size(current_database())::float8 AS size");
    await client.end();
    return rows[0].size;
  }
  return readdirSync(folder)
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

function print(what: string, value: string): void {
  process.stdout.write(`${what}: ${value}\n`);
}
