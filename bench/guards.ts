/**
 * Many guards of one authority. Measures the memory that they take in the authority, the processor
 * time of their pings, and how long it takes until every guard has applied a change. Two helper
 * processes run the guards, each guard on its own connection. Prints a line for each number of
 * guards.
 *
 *     node --import=tsx guards.ts [--guards=100,1000]
 *
 * PORTICO_STORE names an empty Postgres database to measure on. BENCH_DIST names the folder of
 * another build.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pino } from "pino";
import { OpenGuard } from "../src/access/guard.js";
import { parseGrpcTarget } from "../src/address/address.js";
import { AuthService } from "../src/gen/portico/auth/v1/auth.js";
import { EnrolmentsService } from "../src/gen/portico/auth/v1/enrolments.js";
import { KeysService } from "../src/gen/portico/auth/v1/keys.js";
import { Access, RulesService } from "../src/gen/portico/auth/v1/rules.js";
import { MemoryBudget } from "../src/memory/memory-budget.js";
import type { Channel } from "../src/rpc/channel.js";
import { unary } from "../src/rpc/client.js";
import { loadTransport } from "../src/rpc/load-transport.js";
import { freePort, launch, memory, processorTime, stop } from "./processes.js";

const PROGRAM = join(process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist"), "portico.js");
const PASSWORD = "a password for the bench";
const HELPERS = 2;
/** The authority accepts at most 256 guards with one token. */
const GUARDS_OF_TOKEN = 200;
const CHANGES = 50;
/** Milliseconds. */
const IDLE = 10_000;

interface Order {
  readonly target: string;
  readonly tokens: readonly string[];
  readonly guards: number;
}

async function connect(target: string): Promise<() => Channel> {
  const limits = { maxBody: 4 * 1024 ** 2, callTime: 30_000, maxCallTime: 90_000 };
  const transport = await loadTransport("http2", limits as never, {} as never, new MemoryBudget());
  return () => transport.connect(parseGrpcTarget(target));
}

/** Runs in a helper process: opens guards, and reports when all of them may decide. */
async function openGuards({ target, tokens, guards }: Order): Promise<void> {
  const open = await connect(target);
  const log = pino({ level: "error" });
  for (let index = 0; index < guards; index++) {
    const token = tokens[Math.floor(index / GUARDS_OF_TOKEN)] as string;
    const guard = new OpenGuard({ channel: open(), metadata: [["authorization", `Bearer ${token}`]], log });
    await guard.ready();
  }
  process.send?.("ready");
}

async function measure(count: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "portico-guards-"));
  const target = `127.0.0.1:${await freePort()}`;
  const env = {
    PORTICO_DATA: folder,
    PORTICO_ADMIN_PASSWORD: PASSWORD,
    PORTICO_GRPC: target,
    PORTICO_ADMIN: "127.0.0.1:0",
    PORTICO_LOG_LEVEL: "warn",
    PORTICO_STORE: process.env.PORTICO_STORE ?? "sqlite:",
  };
  const authority = launch({ role: "authority", command: process.execPath, args: [PROGRAM, "authority"], env });
  const helpers: ChildProcess[] = [];
  try {
    const channel = (await connect(target))();
    const admin = await logIn(channel);
    const before = memory(authority.pid as number).now;
    for (let index = 0; index < HELPERS; index++) {
      const guards = Math.ceil(count / HELPERS);
      const tokens: string[] = [];
      for (let made = 0; made * GUARDS_OF_TOKEN < guards; made++) {
        const request = { name: "gateway", replace: false };
        tokens.push((await unary(channel, EnrolmentsService.create, request, { metadata: admin })).secret);
      }
      const helper = fork(import.meta.filename, ["--helper"]);
      helpers.push(helper);
      helper.send({ target, tokens, guards } satisfies Order);
      await once(helper, "message");
    }
    const idle = await busy(authority, () => new Promise((resolve) => setTimeout(resolve, IDLE)));
    const times: number[] = [];
    const changing = await busy(authority, async () => {
      for (let change = 0; change < CHANGES; change++) times.push(await changeRule(channel, admin, change));
    });
    const issuing = await busy(authority, async () => {
      for (let change = 0; change < CHANGES; change++) await createKey(channel, admin);
    });
    times.sort((a, b) => a - b);
    const [middle, last] = [times[CHANGES / 2] as number, times.at(-1) as number];
    const grown = memory(authority.pid as number).now - before;
    const cells = [
      count,
      grown.toFixed(0),
      (idle / (IDLE / 1_000) / 1e4).toFixed(1),
      middle.toFixed(1),
      last.toFixed(1),
    ];
    const costs = [changing, issuing].map((time) => (time / CHANGES / 1_000).toFixed(1));
    return `| ${[...cells, ...costs].join(" | ")} |`;
  } finally {
    for (const helper of helpers) await stop(helper);
    await stop(authority);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Processor time of the authority while `run` runs, in microseconds. */
async function busy(authority: ChildProcess, run: () => Promise<unknown>): Promise<number> {
  const before = processorTime(authority.pid as number);
  await run();
  return processorTime(authority.pid as number) - before;
}

async function changeRule(channel: Channel, metadata: [string, string][], change: number): Promise<number> {
  const rule = {
    id: `r${change}`,
    scope: "*",
    access: Access.GRANTED,
    resource: "service:shop:*",
    priority: 0,
    disabled: false,
  };
  await unary(channel, RulesService.create, { rule }, { metadata });
  const began = performance.now();
  await unary(channel, RulesService.delete, { id: rule.id }, { metadata });
  return performance.now() - began;
}

/** A change that guards do not receive. */
async function createKey(channel: Channel, metadata: [string, string][]): Promise<void> {
  await unary(channel, KeysService.create, { name: "key", lifetime: undefined, resources: [], from: [] }, { metadata });
}

async function logIn(channel: Channel): Promise<[string, string][]> {
  for (;;) {
    try {
      const request = { account: "admin", password: PASSWORD, namespace: "" };
      const { accessToken } = await unary(channel, AuthService.login, request);
      return [["authorization", `Bearer ${accessToken}`]];
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

if (process.argv.includes("--helper")) {
  process.once("message", (order: Order) => void openGuards(order));
} else {
  const { values } = parseArgs({ options: { guards: { type: "string", default: "100,1000" } } });
  console.log(
    "| guards | authority's growth, MiB | its processor at rest, % | deleting a rule, ms: median | maximum | processor ms a rule created and deleted | a key created |",
  );
  console.log("|---:|---:|---:|---:|---:|---:|---:|");
  for (const count of values.guards.split(",").map(Number)) console.log(await measure(count));
}
