/**
 * The cost of a call in each dialect, for Portico and for Envoy. Both call the same gRPC service in
 * Go.
 *
 *     npm run bench:dialects [-- --quick]
 *
 * Both gateways run all the time. They take turns in each row, and the rows are repeated in rounds,
 * so that other work on the machine affects all of them equally. The result is the median of the
 * rounds, without the first one, which is a warm-up. h2load (nghttp2) sends the load: a fixed
 * number of calls, 64 in parallel. A whole run takes some five minutes and writes its tables into
 * docs/performance.md. A quick run is only printed.
 */
import { type ChildProcess, execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { type Body, LARGE, SMALL } from "./bodies.js";
import { ANNOTATED_PATH, annotate, ask, DIALECTS, type Dialect } from "./dialect-calls.js";
import { type DialectRow, print, write } from "./dialect-report.js";
import { machine } from "./machine.js";
import { descriptors, envoy } from "./peers.js";
import { isInstalled, processorTime, stop } from "./processes.js";
import { median } from "./results.js";
import { start } from "./starting.js";
import { buildAndInstall, meshBeforeGo, type System } from "./systems.js";

const BODIES = [SMALL, LARGE];

/** Calls in a window, for each payload. They take about a second. */
const WHOLE = {
  rounds: 5,
  calls: new Map([
    [SMALL, 20_000],
    [LARGE, 2_000],
  ]),
};
const QUICK = {
  rounds: 1,
  calls: new Map([
    [SMALL, 8_000],
    [LARGE, 1_000],
  ]),
};

/** Maximum time of a window, in milliseconds. */
const PATIENCE = 60_000;

interface Gateway {
  readonly system: System;
  readonly pid: number;
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({ options: { quick: { type: "boolean" } } });
  if (!isInstalled("h2load")) throw new Error("There is no h2load: install the Debian package nghttp2-client.");
  const { rounds, calls } = options.quick ? QUICK : WHOLE;
  const folder = mkdtempSync(join(tmpdir(), "portico-dialects-"));
  const children: ChildProcess[] = [];
  try {
    const systems = await prepare(folder);
    const description = machine(loadavg()[0]!);
    const [portico, peer] = [await startGateway(systems[0], children), await startGateway(systems[1], children)];
    const rows = BODIES.flatMap((body) => DIALECTS.map((dialect) => new Row(folder, body, dialect)));
    for (let round = 0; round <= rounds; round++) {
      for (const row of rows) await row.measure(portico, peer, calls.get(row.body)!);
    }
    const found = rows.map((row) => row.found());
    print(found);
    if (!options.quick) write(found, description, rounds);
  } finally {
    await Promise.all(children.map(stop));
    rmSync(folder, { recursive: true, force: true });
  }
}

class Row {
  readonly body: Body;
  readonly #dialect: Dialect;
  /** File with the request body. */
  readonly #file: string;
  readonly #times: { readonly portico: number[]; readonly envoy: number[] } = { portico: [], envoy: [] };

  constructor(folder: string, body: Body, dialect: Dialect) {
    this.body = body;
    this.#dialect = dialect;
    this.#file = join(mkdtempSync(join(folder, "request-")), "body");
    writeFileSync(this.#file, dialect.request(body));
  }

  async measure(portico: Gateway, envoy: Gateway, calls: number): Promise<void> {
    this.#times.portico.push(await load(portico, this.#dialect, this.body, this.#file, calls));
    this.#times.envoy.push(await load(envoy, this.#dialect, this.body, this.#file, calls));
  }

  found(): DialectRow {
    const { portico, envoy } = this.#times;
    const name = { dialect: this.#dialect.name, body: this.body.name };
    return { ...name, portico: median(portico.slice(1)), envoy: median(envoy.slice(1)) };
  }
}

/** @returns Portico and Envoy. Both read the same contract */
async function prepare(folder: string): Promise<[System, System]> {
  const contract = descriptors(folder);
  annotate(contract);
  const portico = await meshBeforeGo("Portico", await buildAndInstall(folder), { contract });
  const peer = await envoy(folder, contract, ["connect_grpc_bridge", "grpc_web"]);
  // In Envoy, an annotated method has no other path for JSON.
  return [portico, { ...peer, path: ANNOTATED_PATH }];
}

async function startGateway(system: System, children: ChildProcess[]): Promise<Gateway> {
  if (system.missing !== undefined) throw new Error(`${system.name} cannot be measured: ${system.missing}`);
  await start(system, children, async () => (await ask(system, DIALECTS[0]!, SMALL)).length > 0);
  return { system, pid: children.at(-1)!.pid! };
}

/**
 * Checks that the response is right, and sends a window of calls.
 * @returns microseconds of the gateway's processor time for a call
 */
async function load({ system, pid }: Gateway, dialect: Dialect, body: Body, file: string, calls: number) {
  const response = await ask(system, dialect, body);
  const { port } = system.programs.at(-1)!;
  const headers = { ...system.headers, ...dialect.headers };
  const connections =
    dialect.streams === undefined ? ["--h1", "-c64"] : [`-c${64 / dialect.streams}`, `-m${dialect.streams}`];
  const before = processorTime(pid);
  const { stdout } = await promisify(execFile)(
    "h2load",
    [
      ...connections,
      `-n${calls}`,
      `-d${file}`,
      ...Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]),
      `http://127.0.0.1:${port}${dialect.path ?? system.path}`,
    ],
    { timeout: PATIENCE },
  );
  const time = (processorTime(pid) - before) / calls;
  const succeeded = Number(/ (\d+) succeeded/.exec(stdout)?.[1]);
  const received = Number(/\((\d+)\) data/.exec(stdout)?.[1]);
  if (succeeded !== calls || received !== calls * response.length)
    throw new Error(`${system.name}, ${dialect.name}, ${body.name}: not all answers are right:\n${stdout}`);
  return time;
}

await main();
