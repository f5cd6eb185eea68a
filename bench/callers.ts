/**
 * Calls of many callers. Measures what a call costs when many tokens call in turn, how long the
 * first call of every token takes after a start, and how much memory the tokens take. Prints a
 * table.
 *
 *     node --import=tsx callers.ts [--tokens=1000,20000,200000] [--systems=mesh,process]
 *                                  [--seconds=3] [--connections=64]
 *
 * BENCH_DIST names the folder of another build to measure.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createToken } from "../src/call/token.js";
import type { Event } from "../src/gen/portico/auth/log/v1/log.js";
import { SMALL } from "./bodies.js";
import type { Measurement, Window } from "./load.js";
import { type Installation, install, loggedIn, write } from "./portico-data.js";
import { launch, memory, stop } from "./processes.js";
import { inProcess, mesh, type System } from "./systems.js";

const ACCOUNTS = 5_000;
/** On this signal, a process collects garbage and prints how much memory it uses. */
const MEMORY_HOOK = `data:text/javascript,${encodeURIComponent(`
import { writeFileSync } from "node:fs";
process.on("SIGUSR2", () => { for (let i = 0; i < 3; i++) gc(); setTimeout(() => { gc(); writeFileSync(process.env.BENCH_MEMORY + process.pid, String(process.memoryUsage().heapUsed)); }, 200); });
`)}`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tokens: { type: "string", default: "1000,10000,20000,200000" },
      systems: { type: "string", default: "mesh,process" },
      seconds: { type: "string", default: "3" },
      connections: { type: "string", default: "64" },
    },
  });
  const counts = values.tokens.split(",").map(Number);
  const folder = mkdtempSync(join(tmpdir(), "portico-callers-"));
  try {
    const installation = await install(join(folder, "portico"));
    const all = await issueTokens(installation, Math.max(...counts));
    console.log(
      "| system | tokens | first calls, s | processor µs each | calls/s | processor µs a call | growth, resident/heap MiB |",
    );
    console.log("|---|---:|---:|---|---:|---|---|");
    for (const count of counts) {
      const tokens = join(folder, `tokens-${count}`);
      writeFileSync(tokens, all.slice(0, count).join("\n"));
      for (const name of values.systems.split(",")) {
        const system =
          name === "mesh" ? await mesh(name, installation, "http2", "http2") : await inProcess(name, installation);
        const [connections, duration] = [Number(values.connections), Number(values.seconds) * 1_000];
        console.log(await measure(system, { tokens, count, connections, duration, folder }));
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Issues tokens of many accounts, by writing the same log entries as the authority. */
async function issueTokens({ folder }: Installation, count: number): Promise<string[]> {
  const password = { salt: Buffer.alloc(16), hash: Buffer.alloc(32), n: 2, r: 1, p: 1 };
  const tokens = Array.from({ length: count }, () => createToken("access"));
  const events: NonNullable<Event["event"]>[] = [];
  for (let index = 0; index < ACCOUNTS; index++) {
    const name = `account-${index}`;
    const scopes = ["staff", `team-${index % 100}`];
    events.push({ $case: "accountCreated", value: { namespace: "default", name, scopes, password } });
  }
  for (const [index, token] of tokens.entries()) events.push(loggedIn(`account-${index % ACCOUNTS}`, token));
  await write(folder, events);
  // The authority often reads the log's last entry, so this entry should be as small as usual.
  await write(folder, [{ $case: "namespaceCreated", value: { name: "last" } }]);
  return tokens;
}

interface Load {
  /** The file of tokens, and the number of tokens in it. */
  readonly tokens: string;
  readonly count: number;
  readonly connections: number;
  /** Milliseconds. */
  readonly duration: number;
  readonly folder: string;
}

async function measure(system: System, options: Load): Promise<string> {
  const { tokens, count, connections, duration, folder } = options;
  const hook = join(folder, "memory-");
  const children = [];
  for (const { port, ...program } of system.programs) {
    const args = ["--expose-gc", `--import=${MEMORY_HOOK}`, ...program.args];
    children.push(launch({ ...program, args, env: { ...program.env, BENCH_MEMORY: hook } }));
    await responses(port);
  }
  const generator = fork(join(import.meta.dirname, "load.ts"));
  try {
    const pids = children.map(({ pid }) => pid as number);
    const load = async (more: Partial<Window>): Promise<Measurement> => {
      const window: Window = {
        ...{ port: system.programs.at(-1)!.port, path: system.path, headers: {}, body: SMALL.request, status: 200 },
        ...{ connections, warmUp: 0, duration, processes: pids, tokens, ...more },
      };
      generator.send(window);
      const [{ measurement, failure }] = (await once(generator, "message")) as [
        { measurement: Measurement; failure: string },
      ];
      if (failure !== undefined) throw new Error(failure);
      return measurement;
    };
    const few = join(folder, "few");
    writeFileSync(few, readFileSync(tokens, "latin1").split("\n").slice(-64).join("\n"));
    await load({ tokens: few, duration: 3_000 });
    const before = await Promise.all(pids.map((pid) => memoryOf(pid, hook)));
    // A forced collection discards compiled code.
    await load({ tokens: few, duration: 2_000 });
    const first = await load({ duration: 0, responses: count });
    const steady = await load({ warmUp: 500 });
    const after = await Promise.all(pids.map((pid) => memoryOf(pid, hook)));
    const roles = system.programs.map(({ role }) => role);
    const costOf = ({ processor }: Measurement): string => {
      const parts = roles.map((role, index) => `${role} ${processor[index]!.toFixed(1)}`);
      return `${processor.reduce((total, one) => total + one, 0).toFixed(1)} (${parts.join(", ")})`;
    };
    const growth = roles.map((role, index) => {
      const [now, then] = [after[index]!, before[index]!];
      return `${role} ${(now.resident - then.resident).toFixed(0)}/${(now.heap - then.heap).toFixed(0)}`;
    });
    const firstCalls = [first.seconds.toFixed(2), costOf(first)];
    const cells = [system.name, count, ...firstCalls, steady.rate.toFixed(0), costOf(steady), growth.join(", ")];
    return `| ${cells.join(" | ")} |`;
  } finally {
    generator.kill();
    for (const child of children.reverse()) await stop(child);
  }
}

async function memoryOf(pid: number, hook: string): Promise<{ resident: number; heap: number }> {
  rmSync(`${hook}${pid}`, { force: true });
  process.kill(pid, "SIGUSR2");
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    try {
      const heap = Number(readFileSync(`${hook}${pid}`, "latin1"));
      if (heap > 0) return { resident: memory(pid).now, heap: heap / 2 ** 20 };
    } catch {}
  }
}

/** Resolves when a process listens on the port. */
async function responses(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      socket.destroy();
    }
  }
}

await main();
