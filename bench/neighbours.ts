/**
 * What one caller takes from others. For each neighbour, it runs a `portico server` of its own with
 * at most 768 MB, and makes the neighbour's load for SECONDS. In parallel it makes a steady light
 * load of helloworld calls. It prints a line for each neighbour: p50 and p99 of the helloworld
 * calls, refusals by status, calls refused because the guard had no lease, and the maximum resident
 * memory.
 *
 *     SECONDS=20 node --import=tsx bench/neighbours.ts [neighbour …]
 *
 * SECONDS is the time of each neighbour, 20 by default. BENCH_DIST names the folder of another
 * build. The limit is a memory cgroup if the system allows this program to create one (systemd-run,
 * or cgroups as root). Otherwise this program watches the size and kills a server above the limit,
 * like the kernel.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { administrator, type Portico, start } from "../test/support/process.js";
import { type LightResult, type Load, loadBeside } from "./light-load.js";
import { LIMIT_MIB, limitMemory, watchMemory } from "./memory-limit.js";
import { NEIGHBOURS, type Neighbour, type Place } from "./neighbour-loads.js";

const SECONDS = Number(process.env.SECONDS ?? 20);
const PROGRAM = join(process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist"), "portico.js");
/** Time for the first calls of a new server, in milliseconds. */
const WARM_UP_MS = 2_000;
/** Maximum time for stopping a server after its neighbour, in milliseconds. */
const STOP_MS = 15_000;

/**
 * Runs the light load in a process of its own, so that it does not wait for the neighbour's calls.
 */
async function measureBeside(load: Load): Promise<LightResult> {
  const helper = fork(import.meta.filename, ["--light"]);
  try {
    helper.send(load);
    const [result] = (await Promise.race([once(helper, "message"), once(helper, "exit")])) as [LightResult | number];
    if (typeof result !== "object") throw new Error("the process of the light load ended");
    return result;
  } finally {
    helper.kill();
  }
}

async function measure(name: string, neighbour: Neighbour): Promise<string> {
  const data = mkdtempSync(join(tmpdir(), "portico-neighbours-"));
  const limit = limitMemory();
  let server: Portico | undefined;
  try {
    server = await start(["server"], { PORTICO_DATA: data }, ".", [], { program: PROGRAM, before: limit.before });
    const http = server.address("HTTP");
    const headers = { ...(await administrator(http, data)), "content-type": "application/json" };
    const place: Place = { http, grpc: server.address("gRPC"), data, headers };
    const act = await neighbour.prepare(place);
    await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
    const watched = watchMemory(server.child, limit.isEnforced);
    const stopped = new AbortController();
    const beside = act(stopped.signal);
    const light = await measureBeside({ http, headers, seconds: SECONDS });
    stopped.abort();
    const own = await beside;
    return lineOf(name, { light, peak: watched.end(), own, exit: server.child.signalCode });
  } finally {
    await stopWithin(server);
    limit.end();
    rmSync(data, { recursive: true, force: true });
  }
}

async function stopWithin(server: Portico | undefined): Promise<void> {
  const timer = setTimeout(() => server?.child.kill("SIGKILL"), STOP_MS);
  await server?.stop().catch(() => undefined);
  clearTimeout(timer);
}

interface Measured {
  readonly light: LightResult;
  /** Maximum resident memory in MiB. */
  readonly peak: number;
  /** The neighbour's text about its own calls. */
  readonly own: string;
  readonly exit: NodeJS.Signals | null;
}

function lineOf(name: string, { light, peak, own, exit }: Measured): string {
  const { answered, refused, withoutLease, p50, p99 } = light;
  const refusals = Object.entries(refused).map(([status, count]) => `${status}: ${count}`);
  const cells = [
    name,
    `${answered}`,
    p50?.toFixed(1) ?? "none",
    p99?.toFixed(1) ?? "none",
    refusals.join(", ") || "none",
    `${withoutLease}`,
    `${peak.toFixed(0)}${exit === null ? "" : `, ended by ${exit}`}`,
    own,
  ];
  return `| ${cells.join(" | ")} |`;
}

if (process.argv[2] === "--light") {
  const [load] = (await once(process, "message")) as [Load];
  process.send?.(await loadBeside(load));
  process.disconnect();
} else {
  const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(NEIGHBOURS);
  const limit = limitMemory();
  console.log(`${PROGRAM}\n${limit.says(LIMIT_MIB)}; ${SECONDS} s each`);
  limit.end();
  console.log("| neighbour | answered | p50 ms | p99 ms | refused | without lease | MiB | its own calls |");
  console.log("|---|---:|---:|---:|---|---:|---:|---|");
  for (const name of names) {
    const neighbour = NEIGHBOURS[name];
    if (neighbour === undefined)
      throw new Error(`there is no ${name}; there are: ${Object.keys(NEIGHBOURS).join(", ")}`);
    try {
      console.log(await measure(name, neighbour));
    } catch (error) {
      console.log(`| ${name} | failed: ${(error as Error).message.split("\n", 1)[0]} |`);
    }
  }
  console.log(
    `load average: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(", ")}`,
  );
  process.exit();
}
