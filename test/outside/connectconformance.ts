/**
 * Connect's conformance suite (https://github.com/connectrpc/conformance): builds its programs with
 * Go, and runs it.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { killGroup } from "../scripts/kill-group.js";
import { FULL } from "../support/full.js";
import { goProgram } from "./tools.js";

const MODULE = "connectrpc.com/conformance";
const VERSION = "v1.0.6";
/** The maximum time of a run, in milliseconds. */
export const MAX_TIME = FULL ? 1_800_000 : 240_000;

/** The path of one of the suite's programs. Without Go it is undefined, and a notice is printed. */
export function conformanceProgram(name: "connectconformance" | "referenceserver"): string | undefined {
  return goProgram(`${MODULE}/cmd/${name}`, VERSION);
}

/**
 * Builds the descriptors of the conformance service from its module.
 * @returns the path of their file
 */
export function buildDescriptors(folder: string): string {
  const { stdout } = spawnSync("go", ["mod", "download", "-json", `${MODULE}@${VERSION}`], { encoding: "utf8" });
  const file = join(folder, "conformance.binpb");
  const parameters = ["build", join(JSON.parse(stdout).Dir, "proto"), "-o", file];
  const { status, stderr } = spawnSync("node_modules/.bin/buf", parameters, { encoding: "utf8" });
  if (status !== 0) throw new Error(`buf build: ${stderr}`);
  return file;
}

export interface Outcome {
  /** The number of cases that passed. */
  readonly passed: number;
  /** The names of the cases that failed. */
  readonly failures: readonly string[];
  /** Why the suite failed; empty if it passed. */
  readonly why: string;
}

export interface Suite {
  readonly runner: string;
  /** Flags of the runner, such as `--mode`. */
  readonly parameters: readonly string[];
  /** Patterns of the cases to run; empty for all cases. */
  readonly cases: readonly string[];
  /** The program under test, and its parameters. */
  readonly program: readonly string[];
}

/**
 * Cases that compare a deadline with the clock, and allow a difference of half a second. With other
 * work, and eight calls at a time, a case may take longer. If no other case has failed, they are
 * run once more, alone.
 */
const BY_CLOCK = /^Deadline Propagation\//;

/**
 * The runner's error if the server takes too long to start. A busy computer may be the reason, so
 * the suite is started again.
 */
const NOT_STARTED = /timed out waiting for result from server/;
const MAX_STARTS = 3;

/**
 * Runs the suite.
 * @returns how many cases passed in the first run, and which cases failed also when run alone
 */
export async function runConformance(suite: Suite): Promise<Outcome> {
  let first = await runOnce(suite);
  for (let starts = 1; starts < MAX_STARTS && NOT_STARTED.test(first.why); starts++) first = await runOnce(suite);
  const isLate = first.failures.length > 0 && first.failures.every((name) => BY_CLOCK.test(name));
  if (!isLate) return first;
  const { failures, why } = await runOnce({ ...suite, cases: first.failures });
  return { passed: first.passed, failures, why };
}

async function runOnce({ runner, parameters, cases, program }: Suite): Promise<Outcome> {
  const only = cases.flatMap((pattern) => ["--run", pattern]);
  const child = spawn(runner, [...parameters, ...only, "--", ...program], { detached: true });
  const endAll = (): void => killGroup(child.pid as number);
  const timer = setTimeout(endAll, MAX_TIME);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const closed = once(child, "close");
  // A server that runs longer than the runner would keep the output open.
  child.once("exit", endAll);
  const [status, signal] = await closed;
  clearTimeout(timer);
  const ended = signal === null ? output.slice(-4_000) : `the suite did not end within ${MAX_TIME} ms`;
  return {
    passed: Number(/(\d+) passed/.exec(output)?.[1] ?? 0),
    failures: [...output.matchAll(/^FAILED: (.*):$/gm)].map(([, name]) => name as string),
    why: status === 0 ? "" : ended,
  };
}
