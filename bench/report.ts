/**
 * Writes the report of a run into docs/performance.md, above the text that is written by hand, and
 * draws its chart.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verdicts } from "./aims.js";
import { chart } from "./chart.js";
import type { Results, SystemResult } from "./results.js";
import type { Failure } from "./turn.js";

const DOCS = join(import.meta.dirname, "../docs");

const PAGE = join(DOCS, "performance.md");
/** Ends the report in the page. Everything below this line is written by hand, and is preserved. */
const END = "<!-- end of the report -->";

export function writeReport(results: Results): void {
  const [, byHand = ""] = readFileSync(PAGE, "utf8").split(END);
  writeFileSync(PAGE, report(results) + END + byHand);
  writeFileSync(join(DOCS, "performance.svg"), chart(results, results.plan.points[0]!));
}

/** @returns the part of the page above `END` */
export function report(results: Results): string {
  const { machine, plan, round, failures } = results;
  return `# Performance

<!-- \`npm run bench\` writes this part. Do not edit it: change bench/report.ts, or run the bench again. -->

For those who choose Portico, and those who change its code. The question: what does a call cost, and why?

The tables are one run of \`npm run bench\`, ${machine.date.replace("T", " ")} UTC, commit ${machine.commit}. Each call to Portico carries a
token, and the guard decides it by the rules. Envoy checks a signed token, which it finds in its cache, and the gateway in Rust
looks a token up in a map. The other systems check nothing. The second part says
[where the time of a call goes](#where-the-time-of-a-call-goes).

![Processor time a call](performance.svg)

## How it is measured

The systems take turns, in ${plan.rounds} rounds${round < plan.rounds ? `, of which **this run has begun ${round}**` : ""}. Each system is started for its turn and stopped afterwards.
One generator, \`bench/load.ts\`, sends the load over plain sockets, with one call at a time on each connection. A turn begins
with ${plan.firstWarmUp / 1000} s of small calls that are not counted, because a call costs more until the hot code is compiled. Then each table has ${plan.duration / 1000} s, after ${plan.warmUp / 1000} s more that are not counted, and after
${plan.newCodeWarmUp / 1000} s where the calls use other code than the calls before: 4 KiB, 64 KiB, and streams of 3 messages. The tables show medians.
The call is \`POST /v1/helloworld/call\`. A heading has the size of the request's body; the response is twice as
long. In the tables of streams a call is a stream. The run first compares the responses of all systems.

- **Processor time** of a call is the figure to trust: the processor time that /proc shows for a process, divided by its calls.
  Other work on the computer and the generator affect calls a second and response times.
- **Machine**: ${machine.cores} cores of ${machine.model}, ${machine.memory} GiB, Linux ${machine.kernel}. Load average before the run: ${machine.loadBefore.toFixed(1)}${
    machine.loadBefore > 0.5 ? ", so **other work ran at the same time**: only ratios count" : ""
  }.
- **Versions**: ${Object.entries(machine.versions)
    .filter(([, version]) => version)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ")}.
- Portico runs with the flags of [deploying](deploying.md), \`--max-semi-space-size=32 --initial-old-space-size=64\`. Its access
  log is off (\`PORTICO_LOG_LEVEL=warn\`), because the other systems write none. If a row says that the log is on, the bench
  reads it.
- With workers, processor time and memory are the sums over all processes of the program. The generator and the service
  share the cores with them, so on two cores workers cannot double the calls a second. A body that the gateway
  refuses at its end reaches no service.
- Node, nginx and Envoy run one process with one thread for calls, except where a row names workers. Go and Rust run as many
  threads as there are cores.
${results.left.map(({ name, why }) => `- Left out: ${name}: ${why}.\n`).join("")}
${failures.length > 0 ? failed(failures) : ""}## Aims

Ratios compare the processor time of a call in the process that callers reach.

| aim | found | |
|---|---|---|
${verdicts(results)
  .map(
    ({ aim, found, met }) =>
      `| ${aim} | ${found} | ${met === undefined ? "unmeasured" : met ? "met" : "**not met**"} |`,
  )
  .join("\n")}

${plan.points.map((point) => table(results, point)).join("\n")}
## Start

The time from the start of the process that callers reach to its first response. Its data is on disk, and the processes behind it
are running. Median of ${round}.

| | ms |
|---|---:|
${results.systems.map(({ name, start }) => `| ${name} | ${Math.round(start)} |`).join("\n")}
`;
}

/** The windows that failed. The tables show the other windows of their rows. */
function failed(failures: readonly Failure[]): string {
  return `## Failed windows

A window that fails is repeated once, with the system started anew. What fails twice is not measured again.

| | row | error |
|---|---|---|
${failures.map(({ system, row, error }) => `| ${system} | ${row} | ${cell(error)} |`).join("\n")}

`;
}

/** A text in a cell of a table. */
function cell(text: string): string {
  return text.replace(/\s+/g, " ").replaceAll("|", "\\|");
}

function table({ systems, failures }: Results, point: string): string {
  const measured = systems.filter(({ points }) => points[point]);
  const lost = failures.filter(({ system, row }) => row === point && !measured.some(({ name }) => name === system));
  const lostRows = [...new Set(lost.map(({ system }) => system))].map((name) => `| ${name} | failed | | | | |`);
  return `## ${point}

| | calls/s | p50 ms | p99 ms | processor µs a call | resident MiB |
|---|---:|---:|---:|---|---|
${[...measured.map((system) => row(system, point)), ...lostRows].join("\n")}
`;
}

function row({ name, roles, points }: SystemResult, point: string): string {
  const { rate, p50, p99, processor, memory } = points[point]!;
  const each = (values: readonly number[], digits: number) =>
    roles
      .map((role, index) => (roles.length > 1 ? `${role} ` : "") + values[index]!.toFixed(digits))
      .reverse()
      .join(", ");
  const times = [p50, p99].map((time) => time.toFixed(2)).join(" | ");
  return `| ${name} | ${Math.round(rate).toLocaleString("en")} | ${times} | ${each(processor, 1)} | ${each(memory, 0)} |`;
}
