/**
 * The results of a run of dialects.ts: printed, and written into docs/performance.md between its
 * markers.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Results } from "./results.js";

/** Microseconds of the gateway's processor time for a call. */
export interface DialectRow {
  readonly dialect: string;
  /** Name of the payload. */
  readonly body: string;
  readonly portico: number;
  readonly envoy: number;
}

const PAGE = join(import.meta.dirname, "../docs/performance.md");
const BEGIN = "<!-- `npm run bench:dialects` writes what follows. -->\n";
const END = "<!-- end of the dialects -->";

/** The maximum cost of a call in gRPC, as a share of a call in JSON. */
const MAX_SHARE = 0.7;

export function print(rows: readonly DialectRow[]): void {
  console.log(tables(rows));
}

export function write(rows: readonly DialectRow[], machine: Results["machine"], rounds: number): void {
  const [before, rest] = readFileSync(PAGE, "utf8").split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${PAGE} has no marks for the dialects`);
  const { date, commit, cores, model, loadBefore, versions } = machine;
  const run = `Measured ${date.replace("T", " ")} UTC, commit ${commit}, Node ${versions.node}, Envoy ${versions.envoy}, medians of ${rounds} rounds, ${cores} cores of ${model}.
Load average before the run: ${loadBefore.toFixed(1)}${loadBefore > 0.5 ? ", so **other work ran at the same time**: only ratios count" : ""}.`;
  writeFileSync(PAGE, `${before}${BEGIN}\n${run}\n\n${tables(rows)}\n${END}${after}`);
}

function tables(rows: readonly DialectRow[]): string {
  const bodies = [...new Set(rows.map(({ body }) => body))];
  return [...bodies.map((body) => table(rows.filter((row) => row.body === body))), aims(rows)].join("\n\n");
}

/** The rows of one payload, with JSON first. */
function table(rows: readonly DialectRow[]): string {
  const [json] = rows;
  const lines = rows.map(({ dialect, portico, envoy }) => {
    const times = [portico, envoy].map((time) => time.toFixed(1));
    return `| ${dialect} | ${times.join(" | ")} | ${ratio(portico, envoy)} | ${ratio(portico, json!.portico)} |`;
  });
  return [
    `| ${json!.body} | Portico, µs | Envoy, µs | Portico to Envoy | to Portico's JSON |`,
    "|---|---:|---:|---:|---:|",
    ...lines,
  ].join("\n");
}

function aims(rows: readonly DialectRow[]): string {
  const behind = rows
    .filter(({ portico, envoy }) => portico >= envoy)
    .map(({ dialect, body }) => `${body}: ${dialect}`);
  const grpc = rows
    .filter(({ dialect }) => dialect.startsWith("gRPC, "))
    .map(({ dialect, body, portico }) => {
      const json = rows.find((row) => row.body === body)!;
      return line(
        `${body}: ${dialect}, at most ${MAX_SHARE} of a call of JSON`,
        ratio(portico, json.portico),
        portico <= MAX_SHARE * json.portico,
      );
    });
  const ahead = line(
    "less than Envoy in every row",
    behind.length === 0 ? "all" : `not ${behind.join("; ")}`,
    behind.length === 0,
  );
  return ["| aim | found | |", "|---|---|---|", ...grpc, ahead].join("\n");
}

function line(aim: string, found: string, met: boolean): string {
  return `| ${aim} | ${found} | ${met ? "met" : "**not met**"} |`;
}

function ratio(one: number, other: number): string {
  return (one / other).toFixed(2);
}
