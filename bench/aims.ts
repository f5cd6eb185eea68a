/**
 * Portico's aims, as ratios within one run, so that they are comparable on slow, fast and busy
 * machines.
 */
import { LARGE_STREAM, LONG_STREAM, SHORT_STREAM } from "./bodies.js";
import type { Results, SystemResult, Telling } from "./results.js";

export interface Verdict {
  readonly aim: string;
  readonly found: string;
  /** Undefined if this machine cannot show it. */
  readonly met: boolean | undefined;
}

const SMALL = "15 B, 64 connections";
const MEDIUM = "4 KiB, 64 connections";
const LARGE = "64 KiB, 64 connections";
const FEW = "15 B, 16 connections";
const MANY = "15 B, 2,048 connections";
const WORKERS = "64 KiB of escapes, refused, 64 connections";
const SHORT_STREAMS = `${SHORT_STREAM.name}, 64 connections`;
const LONG_STREAMS = [LONG_STREAM, LARGE_STREAM].map(({ name }) => `${name}, 16 connections`);

/** With fewer cores, two workers take cores from the generator. */
const MIN_CORES = 4;

/** Earlier results, from the machine and the run in docs/performance.md of 2026-11-21. */
const BEFORE = {
  /** 99th percentiles, as multiples of the 99th percentile of node:http with a fixed response. */
  inProcessTail: 1.51,
  meshTail: 1.62,
  /** Resident MiB with 64 connections at 15 B, 4 KiB and 64 KiB. */
  inProcessMemory: [105, 119, 135],
  gatewayMemory: [97, 126, 168],
};

/** The result of a system for a row, or undefined if it was not measured. */
type At = (point: string) => Telling | undefined;

/** The verdict for each aim whose systems and tables were measured. */
export function verdicts({ systems, machine }: Results): Verdict[] {
  const at = (name: string, point: string) => systems.find((system) => system.name === name)?.points[point];
  const ceiling = (point: string) => at("node:http, fixed answer", point);
  const inProcess = (point: string) => at("Portico in process", point);
  const mesh = (point: string) => at("Portico mesh, http2 → http2", point);
  const beforeGo = (point: string) => at("Portico mesh → Go gRPC", point);
  const rust = (point: string) => at("Rust by hand → Go gRPC", point);
  const envoy = (point: string) => at("Envoy → Go gRPC", point);
  const handler = (point: string) => at("node:http by hand", point);
  const start = systems.find(({ name }) => name === "Portico in process")?.start;
  return [
    ratio("in process, 15 B: at most 1.0 of node:http with a fixed answer", inProcess(SMALL), ceiling(SMALL), 1),
    ratio("in process, 4 KiB: at most 1.0 of a node:http handler by hand", inProcess(MEDIUM), handler(MEDIUM), 1),
    ratio("in process, 64 KiB: at most 0.7 of a node:http handler by hand", inProcess(LARGE), handler(LARGE), 0.7),
    ratio("mesh gateway, 15 B: at most 1.1 of node:http with a fixed answer", mesh(SMALL), ceiling(SMALL), 1.1),
    steepness("in process", inProcess, ceiling),
    steepness("mesh gateway", mesh, ceiling),
    ratio("mesh gateway, 4 KiB: no dearer than the one in Rust", beforeGo(MEDIUM), rust(MEDIUM), 1),
    ratio("mesh gateway, 64 KiB: no dearer than the one in Rust", beforeGo(LARGE), rust(LARGE), 1),
    ratio("short streams: no dearer than Envoy's", beforeGo(SHORT_STREAMS), envoy(SHORT_STREAMS), 1),
    ...LONG_STREAMS.map((point) => ratio(`${point}: cheaper than Envoy's`, beforeGo(point), envoy(point), 1)),
    tail("in process", inProcess(SMALL), ceiling(SMALL), BEFORE.inProcessTail),
    tail("mesh", mesh(SMALL), ceiling(SMALL), BEFORE.meshTail),
    memory("in process", [SMALL, MEDIUM, LARGE].map(inProcess), BEFORE.inProcessMemory),
    memory("mesh gateway", [SMALL, MEDIUM, LARGE].map(mesh), BEFORE.gatewayMemory),
    workers(machine.cores, mesh(WORKERS), at("Portico mesh, http2 → http2, 2 workers", WORKERS)),
    ratio("100,000 rules: at most 1.05 of ten", at("Portico in process, 100,000 rules", SMALL), inProcess(SMALL), 1.05),
    service(systems),
    start === undefined
      ? undefined
      : { aim: "first answer within 500 ms", found: `${Math.round(start)} ms`, met: start < 500 },
  ].filter((verdict) => verdict !== undefined);
}

/** Processor time of the process that callers connect to, divided by the time of another system. */
function ratio(aim: string, ours?: Telling, theirs?: Telling, maxRatio = 1): Verdict | undefined {
  if (ours === undefined || theirs === undefined) return undefined;
  const [own, other] = [front(ours), front(theirs)];
  const found = `${(own / other).toFixed(2)}; ${own.toFixed(1)} and ${other.toFixed(1)} µs a call`;
  return { aim, found, met: own <= maxRatio * other };
}

/**
 * By which factor a call is more expensive with many connections than with few, compared with
 * node:http.
 */
function steepness(what: string, ours: At, ceiling: At): Verdict | undefined {
  const [few, many, ceilingFew, ceilingMany] = [ours(FEW), ours(MANY), ceiling(FEW), ceiling(MANY)];
  if (!few || !many || !ceilingFew || !ceilingMany) return undefined;
  const own = front(many) / front(few);
  const other = front(ceilingMany) / front(ceilingFew);
  const times = (ratio: number, from: Telling, to: Telling) =>
    `${ratio.toFixed(2)}, ${front(from).toFixed(1)} to ${front(to).toFixed(1)} µs a call`;
  return {
    aim: `${what}, from 16 to 2,048 connections: no steeper than node:http with a fixed answer`,
    found: `${times(own, few, many)}; node:http ${times(other, ceilingFew, ceilingMany)}`,
    met: own <= other,
  };
}

function front({ processor }: Telling): number {
  return processor.at(-1)!;
}

function tail(what: string, ours: Telling | undefined, ceiling: Telling | undefined, before: number) {
  if (ours === undefined || ceiling === undefined) return undefined;
  const found = ours.p99 / ceiling.p99;
  const aim = `${what}, 99th percentile: at most ${before} of node:http's, as before`;
  return { aim, found: `${found.toFixed(2)}; ${ours.p99.toFixed(1)} ms`, met: found <= before };
}

function memory(what: string, ours: readonly (Telling | undefined)[], before: readonly number[]): Verdict | undefined {
  const found = ours.map((telling) => telling?.memory.at(-1));
  if (found.includes(undefined)) return undefined;
  return {
    aim: `${what}, resident: at most ${before.join(", ")} MiB at 15 B, 4 KiB and 64 KiB, as before`,
    found: found.map((one) => one!.toFixed(0)).join(", "),
    met: found.every((one, index) => one! <= before[index]!),
  };
}

function workers(cores: number, one: Telling | undefined, two: Telling | undefined): Verdict | undefined {
  if (one === undefined || two === undefined) return undefined;
  const aim = `two workers: at least 1.7 of the calls of one, on ${MIN_CORES} cores or more`;
  const found = (two.rate / one.rate).toFixed(2);
  if (cores < MIN_CORES) return { aim, found: `${found} on ${cores} cores, which is no measure`, met: undefined };
  return { aim, found, met: two.rate >= 1.7 * one.rate };
}

function service(systems: readonly SystemResult[]): Verdict | undefined {
  const mesh = systems.find(({ name }) => name === "Portico mesh, http2 → http2");
  const time = mesh?.points[SMALL]?.processor[mesh.roles.indexOf("service")];
  if (time === undefined) return undefined;
  return { aim: "a service takes at most 5 µs a call of 15 B", found: `${time.toFixed(1)} µs`, met: time <= 5 };
}
