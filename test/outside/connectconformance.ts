/** connectrpc's conformance suite (https://github.com/connectrpc/conformance): its runner and what it needs, built with Go. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { killGroup } from "../scripts/kill-group.js";
import { FULL } from "../support/full.js";
import { goProgram } from "./tools.js";

const MODULE = "connectrpc.com/conformance";
const VERSION = "v1.0.6";
/** Longest run, in milliseconds. */
export const MAX_TIME = FULL ? 1_800_000 : 240_000;

/** One of the suite's programs; undefined, with a notice, where there is no Go. */
export function conformanceProgram(name: "connectconformance" | "referenceserver"): string | undefined {
  return goProgram(`${MODULE}/cmd/${name}`, VERSION);
}

/** Builds the descriptors of the conformance service from its module. @returns their file */
export function buildDescriptors(folder: string): string {
  const { stdout } = spawnSync("go", ["mod", "download", "-json", `${MODULE}@${VERSION}`], { encoding: "utf8" });
  const file = join(folder, "conformance.binpb");
  const parameters = ["build", join(JSON.parse(stdout).Dir, "proto"), "-o", file];
  const { status, stderr } = spawnSync("node_modules/.bin/buf", parameters, { encoding: "utf8" });
  if (status !== 0) throw new Error(`buf build: ${stderr}`);
  return file;
}

export interface Outcome {
  /** How many cases passed. */
  readonly passed: number;
  /** Names of those that failed. */
  readonly failures: readonly string[];
  /** Why the suite failed; empty where it passed. */
  readonly why: string;
}

export interface Suite {
  readonly runner: string;
  /** Flags of the runner, such as `--mode`. */
  readonly parameters: readonly string[];
  /** Patterns of the cases to run; all where there are none. */
  readonly cases: readonly string[];
  /** The program under test, and its parameters. */
  readonly program: readonly string[];
}

/**
 * Cases that compare a deadline with the clock, half a second apart at most. Beside other work, and with eight calls at a time,
 * one may take longer: so where nothing else has failed, they are run once more by themselves.
 */
const BY_CLOCK = /^Deadline Propagation\//;

/** What the runner says of a server that took longer to start than it waits. A busy machine may be the reason. */
const NOT_STARTED = /timed out waiting for result from server/;
const MAX_STARTS = 3;

/** Runs the suite. @returns how many cases passed at first, and what failed even where it was run alone */
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
  // A server that outlives the runner would keep its output open.
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
