/**
 * Many services in the catalog of one gateway. Measures the gateway's memory, and how soon it
 * responds after its start. Each service has its own contract (catalog-services.ts) and its own
 * connection. Prints a line for each number of services.
 *
 *     node --import=tsx catalog.ts [--services=100,1000] [--heap]
 *
 * BENCH_DIST names the folder of another build to measure. With --heap the gateway collects garbage
 * before its memory is measured, and its heap size is printed.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseGrpcTarget } from "../src/address/address.js";
import { EnrolmentsService } from "../src/gen/portico/auth/v1/enrolments.js";
import { Access } from "../src/gen/portico/auth/v1/rules.js";
import { MemoryBudget } from "../src/memory/memory-budget.js";
import type { Channel } from "../src/rpc/channel.js";
import { unary } from "../src/rpc/client.js";
import { loadTransport } from "../src/rpc/load-transport.js";
import { ENDPOINT, type Order } from "./catalog-services.js";
import { type Installation, install, write } from "./portico-data.js";
import { launch, memory, processorTime, stop } from "./processes.js";
import { role } from "./systems.js";

const CHANGES = 100;
/** Parallel calls. */
const CONNECTIONS = 16;
/** Maximum time until the gateway responds, in milliseconds. */
const PATIENCE = 60_000;

/** On this signal, a process collects garbage and prints what it uses. */
const MEMORY_HOOK = `data:text/javascript,${encodeURIComponent(`
import { writeFileSync } from "node:fs";
process.on("SIGUSR2", () => {
  for (let i = 0; i < 3; i++) gc();
  writeFileSync(process.env.BENCH_MEMORY, JSON.stringify(process.memoryUsage()));
});
`)}`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { services: { type: "string", default: "100,1000" }, heap: { type: "boolean", default: false } },
  });
  const folder = mkdtempSync(join(tmpdir(), "portico-catalog-"));
  try {
    const installation = await install(join(folder, "portico"));
    const rule = {
      id: "all",
      scope: "*",
      access: Access.GRANTED,
      resource: "service:*:*",
      priority: 0,
      disabled: false,
    };
    await write(installation.folder, [{ $case: "ruleCreated", value: { namespace: "default", rule } }]);
    console.log(
      "| services | authority, MiB | first answer, s | all answered, s | processor until then, s | gateway, MiB: at its first answer | once all were called | a change, processor ms of the gateway | calls meanwhile, ms: median | maximum |",
    );
    console.log("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (const count of values.services.split(",").map(Number))
      console.log(await measure(count, installation, values.heap));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(count: number, { folder, token }: Installation, heap: boolean): Promise<string> {
  const { port: authorityPort, ...authorityProgram } = await role("authority", ["authority"], { PORTICO_DATA: folder });
  const target = `127.0.0.1:${authorityPort}`;
  const authority = launch(authorityProgram);
  const helper = fork(join(import.meta.dirname, "catalog-services.ts"));
  helper.once("exit", (code) => code && process.exit(1));
  const { port, ...program } = await role("gateway", ["gateway"], { PORTICO_DATA: folder, PORTICO_AUTHORITY: target });
  const hook = join(folder, "memory");
  const args = heap ? ["--expose-gc", `--import=${MEMORY_HOOK}`, ...program.args] : program.args;
  const children = [authority];
  try {
    const names = Array.from({ length: count }, (_, index) => `shop-${index}`);
    helper.send({ target, services: await enrol(target, token, names) } satisfies Order);
    await once(helper, "message");
    const before = memory(authority.pid as number).now;

    const began = performance.now();
    const gateway = launch({
      ...program,
      args,
      env: { ...program.env, BENCH_MEMORY: hook },
    });
    children.push(gateway);
    const pid = gateway.pid as number;
    const calls = new Calls(port, token);
    await calls.untilAnswered(names[count - 1] as string);
    const first = performance.now() - began;
    const atFirst = memory(pid).now;
    const small = heap ? await collected(pid, hook) : "";
    await calls.all(names);
    const all = performance.now() - began;
    const processor = processorTime(pid) / 1e6;
    const atAll = memory(pid).now;
    const large = heap ? await collected(pid, hook) : "";

    const spent = processorTime(pid);
    let changing = true;
    helper.send(Math.min(CHANGES, count));
    const changed = once(helper, "message").then(() => {
      changing = false;
    });
    const times: number[] = [];
    while (changing) times.push(await calls.timed(names[count - 1] as string));
    await changed;
    const change = (processorTime(pid) - spent) / 1e3 / Math.min(CHANGES, count);
    times.sort((a, b) => a - b);
    calls.close();
    const cells = [
      ...[count, before.toFixed(0), (first / 1e3).toFixed(2), (all / 1e3).toFixed(2), processor.toFixed(2)],
      ...[`${atFirst.toFixed(0)}${small}`, `${atAll.toFixed(0)}${large}`, change.toFixed(1)],
      ...[(times[times.length >> 1] as number).toFixed(1), (times.at(-1) as number).toFixed(1)],
    ];
    return `| ${cells.join(" | ")} |`;
  } finally {
    helper.kill();
    for (const child of children.reverse()) await stop(child);
  }
}

/** Memory of a process after a garbage collection. */
async function collected(pid: number, hook: string): Promise<string> {
  rmSync(hook, { force: true });
  process.kill(pid, "SIGUSR2");
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    try {
      const { heapUsed, external, rss } = JSON.parse(readFileSync(hook, "latin1"));
      const [used, outside, resident] = [heapUsed, external, rss].map((bytes) => (bytes / 2 ** 20).toFixed(0));
      return ` (${resident}: heap ${used}, external ${outside})`;
    } catch {}
  }
}

/** Gives each service an enrolment token. */
async function enrol(target: string, token: string, names: readonly string[]): Promise<[string, string][]> {
  const limits = { maxBody: 4 * 1024 ** 2, callTime: 30_000, maxCallTime: 90_000 };
  const transport = await loadTransport("http2", limits as never, {} as never, new MemoryBudget());
  const channel: Channel = transport.connect(parseGrpcTarget(target));
  const metadata: [string, string][] = [["authorization", `Bearer ${token}`]];
  const create = (name: string) => unary(channel, EnrolmentsService.create, { name, replace: true }, { metadata });
  for (;;) {
    try {
      await create("warm-up");
      break;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const found: [string, string][] = [];
  for (let start = 0; start < names.length; start += 64) {
    const some = names.slice(start, start + 64);
    found.push(
      ...(await Promise.all(some.map(async (name): Promise<[string, string]> => [name, (await create(name)).secret]))),
    );
  }
  channel.close();
  return found;
}

class Calls {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  readonly #port: number;
  readonly #token: string;

  constructor(port: number, token: string) {
    this.#port = port;
    this.#token = token;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** @returns the status */
  #call(service: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${this.#token}`, "content-type": "application/json" };
      const where = { host: "127.0.0.1", port: this.#port, path: `/v1/${service}/${ENDPOINT}`, method: "POST" };
      const call = request({ ...where, headers, agent: this.#agent }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode as number));
      });
      call.on("error", reject).end('{"id":"1"}');
    });
  }

  /** Calls again every few milliseconds, until there is a response. */
  async untilAnswered(service: string): Promise<void> {
    for (const late = Date.now() + PATIENCE; ; ) {
      const status = await this.#call(service).catch(() => 0);
      if (status === 200) return;
      if (Date.now() > late) throw new Error(`no answer within ${PATIENCE} ms: ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
  }

  /** Calls each service until it responds, several in parallel. */
  async all(services: readonly string[]): Promise<void> {
    const left = [...services];
    const run = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) await this.untilAnswered(next);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, run));
  }

  /** @returns milliseconds */
  async timed(service: string): Promise<number> {
    const began = performance.now();
    const status = await this.#call(service);
    if (status !== 200) throw new Error(`${service} answers ${status}`);
    return performance.now() - began;
  }
}

await main();
