/**
 * Calls through a gateway: Portico, its peers, and the maximum that node:http can do.
 *
 *     npm run calls [-- --quick] [--only=Portico,Rust]
 *
 * The systems take turns in rounds, so that other work on the machine affects all of them equally.
 * The result is the median of the rounds. A system is started for its turn, in processes of its
 * own, and stopped after it, so that no system is idle while others are measured. One generator
 * (load.ts) sends the load to all systems.
 *
 * A whole run takes some 25 minutes. It writes docs/performance.md after each turn, so an
 * interrupted run keeps its results. A quick run, or a run of some systems, is only printed.
 * Failures are reported, and their rows are left out (turn.ts). The run ends with exit code 1 if
 * Portico failed.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { verdicts } from "./aims.js";
import {
  answerTo,
  BODIES,
  type Body,
  FROM_BROWSER,
  LARGE,
  LARGE_STREAM,
  LONG_STREAM,
  MEDIUM,
  REFUSED,
  SHORT_STREAM,
  SMALL,
  STREAMS,
} from "./bodies.js";
import type { Measurement, Window } from "./load.js";
import { machine } from "./machine.js";
import { memory, stop } from "./processes.js";
import { writeReport } from "./report.js";
import { median, type Results, type SystemResult, type Telling } from "./results.js";
import { start } from "./starting.js";
import { prepare, type System } from "./systems.js";
import { type Failure, isOurs, takeTurn } from "./turn.js";

interface Point {
  readonly body: Body;
  readonly connections: number;
  /**
   * Only systems that name this table are measured at this point. Undefined: all systems are
   * measured, but variants only at MAIN_POINT.
   */
  readonly table?: NonNullable<System["tables"]>[number];
  /** Number of responses to wait for, if they take long. */
  readonly responses?: number;
  /** Its calls run code that the calls of the points before it do not run. */
  readonly newCode?: true;
}

interface Measured {
  readonly system: System;
  readonly starts: number[];
  readonly windows: Map<Point, (Measurement & { readonly memory: number[] })[]>;
}

const MAIN_POINT: Point = { body: SMALL, connections: 64 };
const MEDIUM_POINT: Point = { body: MEDIUM, connections: 64, newCode: true };
const LARGE_POINT: Point = { body: LARGE, connections: 64, newCode: true };
const POINTS: readonly Point[] = [
  MAIN_POINT,
  { body: FROM_BROWSER, connections: 64 },
  { body: SMALL, connections: 1 },
  { body: SMALL, connections: 512 },
  MEDIUM_POINT,
  LARGE_POINT,
];
const CONNECTIONS: readonly Point[] = [16, 2_048].map((connections) => ({
  body: SMALL,
  connections,
  table: "connections",
  responses: 2 * connections,
}));
const SHORT_STREAMS: Point = { body: SHORT_STREAM, connections: 64, table: "streams", newCode: true };
const LONG_STREAMS: readonly Point[] = [LONG_STREAM, LARGE_STREAM].map((body) => ({
  body,
  connections: 16,
  table: "streams",
  responses: 64,
}));
/**
 * Measures how calls per second grow with workers. With any other body, the service and the
 * generator use the cores too.
 */
const SCALING_POINT: Point = { body: REFUSED, connections: 64, table: "workers" };

/**
 * Milliseconds. Each window begins with a warm-up that does not count, and each turn with a warm-up
 * of small calls: a gateway runs for a long time, and a call costs more until its hot code is
 * compiled. `newCodeWarmUp` is the warm-up of a window with new code. At the first call of a new
 * size, V8 discards much of the code that it compiled for small calls, and compiles it again.
 */
const WHOLE = {
  rounds: 5,
  firstWarmUp: 3_000,
  warmUp: 300,
  newCodeWarmUp: 2_000,
  duration: 1_000,
  points: [...POINTS, ...CONNECTIONS, SHORT_STREAMS, ...LONG_STREAMS, SCALING_POINT],
};
const QUICK = {
  rounds: 1,
  firstWarmUp: 800,
  warmUp: 200,
  newCodeWarmUp: 800,
  duration: 500,
  points: [MAIN_POINT, MEDIUM_POINT, LARGE_POINT, ...CONNECTIONS, SHORT_STREAMS, ...LONG_STREAMS, SCALING_POINT],
};

async function main(): Promise<void> {
  const { values: options } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string" } } });
  const plan = options.quick ? QUICK : WHOLE;
  const folder = mkdtempSync(join(tmpdir(), "portico-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const generator = fork(join(import.meta.dirname, "load.ts"));
  try {
    const wanted = (options.only ?? "").split(",");
    const systems = (await prepare(folder)).filter(({ name }) => wanted.some((part) => name.includes(part)));
    const left = systems.flatMap(({ name, missing }) => (missing === undefined ? [] : { name, why: missing }));
    for (const { name, why } of left) console.error(`left out: ${name}: ${why}`);
    const measured = systems
      .filter(({ missing }) => missing === undefined)
      .map((system): Measured => ({ system, starts: [], windows: new Map() }));
    const description = machine(loadavg()[0]!);
    const failures: Failure[] = [];
    const results = (round: number): Results => ({
      machine: description,
      plan: { ...plan, points: plan.points.map(nameOf) },
      round,
      systems: measured.filter(({ starts }) => starts.length > 0).map((one) => summarize(one, plan.points)),
      left,
      failures,
    });
    for (let round = 1; round <= plan.rounds; round++) {
      for (const one of measured) {
        await measure(generator, one, plan, failures);
        print(one, round, plan);
        if (!options.quick && options.only === undefined) writeReport(results(round));
      }
    }
    printAims(results(plan.rounds));
    if (failures.some(isOurs)) process.exitCode = 1;
  } finally {
    generator.kill();
  }
}

/** Runs the turn of a system, and prints its failures. */
async function measure(
  generator: ChildProcess,
  { system, starts, windows }: Measured,
  plan: typeof WHOLE,
  failures: Failure[],
): Promise<void> {
  const children: ChildProcess[] = [];
  const running = { system, children };
  const points = new Map(
    plan.points.filter((point) => isMeasured(system, point)).map((point) => [nameOf(point), point] as const),
  );
  const before = failures.length;
  const turn = {
    system: system.name,
    start: async () => {
      starts.push(await start(system, children, () => answersSmallCall(system)));
      await checkAnswers(system);
      await load(generator, running, MAIN_POINT, 0, plan.firstWarmUp);
    },
    measure: async (row: string) => {
      const point = points.get(row)!;
      const warmUp = point.newCode ? plan.newCodeWarmUp : plan.warmUp;
      const measurement = await load(generator, running, point, warmUp, plan.duration);
      windows.set(point, [...(windows.get(point) ?? []), { ...measurement, memory: children.map(residentOf) }]);
    },
    stop: async () => {
      await Promise.all(children.splice(0).map(stop));
    },
  };
  await takeTurn(turn, [...points.keys()], failures);
  for (const failure of failures.slice(before)) {
    console.error(
      `${isOurs(failure) ? "PORTICO FAILED" : "failed"}: ${failure.system}, ${failure.row}: ${failure.error}`,
    );
  }
}

async function answersSmallCall(system: System): Promise<boolean> {
  const response = await call(system, SMALL.request);
  await response.arrayBuffer();
  return response.status === 200;
}

async function checkAnswers(system: System): Promise<void> {
  for (const { name, request } of BODIES) {
    const response = await call(system, request);
    const answer = JSON.stringify(await response.json());
    if (answer !== answerTo(request)) throw new Error(`the answer to ${name} is wrong: ${answer.slice(0, 200)}`);
  }
  if (!system.tables?.includes("streams")) return;
  for (const { name, request, messages = 0 } of STREAMS) {
    const response = await call(system, request, system.streamPath);
    const lines = (await response.text()).trimEnd().split("\n");
    if (lines.length !== messages || lines.some((line) => JSON.stringify(JSON.parse(line)) !== answerTo(request)))
      throw new Error(`the answer to ${name} is wrong: ${lines.length} lines, ${lines[0]?.slice(0, 200)}`);
  }
}

function call({ programs, path: ofCall, headers }: System, body: string, path = ofCall): Promise<Response> {
  return fetch(`http://127.0.0.1:${programs.at(-1)!.port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close", ...headers },
    body,
  });
}

function isMeasured({ tables = [] }: System, point: Point): boolean {
  if (point.table !== undefined) return tables.includes(point.table);
  return point === MAIN_POINT || !tables.includes("variant");
}

/** Sends load for one window. */
async function load(
  generator: ChildProcess,
  { system, children }: { readonly system: System; readonly children: readonly ChildProcess[] },
  { body, connections, responses: answers = 0 }: Point,
  warmUp: number,
  duration: number,
): Promise<Measurement> {
  const { port } = system.programs.at(-1)!;
  const path = body.messages === undefined ? system.path : system.streamPath!;
  const headers = { ...system.headers, ...body.headers };
  const families = children.map(withWorkers);
  const processes = families.flat();
  const { request, status } = body;
  const call = { port, path, headers, body: request, status, connections };
  const window: Window = { ...call, warmUp, duration, responses: answers, processes };
  generator.send(window);
  const [response] = (await once(generator, "message")) as [{ measurement: Measurement } | { failure: string }];
  if ("failure" in response) throw new Error(response.failure);
  const { measurement } = response;
  const times = new Map(processes.map((pid, index) => [pid, measurement.processor[index]!]));
  const processor = families.map((family) => sum(family.map((pid) => times.get(pid)!)));
  return { ...measurement, processor };
}

/** The IDs of a program's process and of the processes that it has started. */
function withWorkers({ pid }: ChildProcess): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1");
  return [pid!, ...children.split(" ").filter(Boolean).map(Number)];
}

/** MiB. */
function residentOf(program: ChildProcess): number {
  return sum(withWorkers(program).map((pid) => memory(pid).now));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function nameOf({ body, connections }: Point): string {
  return `${body.name}, ${connections.toLocaleString("en")} ${connections === 1 ? "connection" : "connections"}`;
}

function summarize({ system, starts, windows }: Measured, points: readonly Point[]): SystemResult {
  const tellings = points
    .filter((point) => windows.has(point))
    .map((point) => [nameOf(point), telling(windows.get(point)!)] as const);
  const roles = system.programs.map(({ role }) => role);
  return { name: system.name, roles, start: median(starts), points: Object.fromEntries(tellings) };
}

function telling(windows: (Measurement & { readonly memory: number[] })[]): Telling {
  const of = (read: (window: (typeof windows)[number]) => number) => median(windows.map(read));
  const ofEach = (read: (window: (typeof windows)[number]) => readonly number[]) =>
    read(windows[0]!).map((_, index) => of((window) => read(window)[index]!));
  return {
    rate: of(({ rate }) => rate),
    p50: of(({ p50 }) => p50),
    p99: of(({ p99 }) => p99),
    generator: of(({ generator }) => generator),
    processor: ofEach(({ processor }) => processor),
    memory: ofEach(({ memory }) => memory),
  };
}

/** Prints the medians of a system's turns so far. */
function print(one: Measured, round: number, { rounds, points }: typeof WHOLE): void {
  if (one.starts.length === 0) return;
  const { name, roles, start, points: rows } = summarize(one, points);
  console.log(`\n${name}, round ${round} of ${rounds}: first answer after ${Math.round(start)} ms`);
  for (const [row, { rate, p50, p99, generator, processor, memory }] of Object.entries(rows)) {
    const each = roles.map(
      (role, index) => `${role} ${processor[index]!.toFixed(1)} µs ${Math.round(memory[index]!)} MiB`,
    );
    console.log(
      `  ${row.padEnd(24)} ${String(Math.round(rate)).padStart(6)}/s  p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms  ` +
        `${each.join(", ")} (load ${generator.toFixed(1)} µs)`,
    );
  }
}

function printAims(results: Results): void {
  console.log(`\nAims; load average before: ${results.machine.loadBefore.toFixed(1)}`);
  for (const { aim, found, met } of verdicts(results)) {
    console.log(`  ${met === undefined ? "unmeasured" : met ? "met" : "NOT MET"}: ${aim}: ${found}`);
  }
  for (const { system, row, error } of results.failures) console.log(`  failed: ${system}, ${row}: ${error}`);
}

await main();
