/** Writes docs/performance.md and its chart. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { verdicts } from "./aims.js";
import { chart } from "./chart.js";
import type { Results, SystemResult } from "./results.js";

const DOCS = join(import.meta.dirname, "../docs");

export function writeReport(results: Results): void {
  writeFileSync(join(DOCS, "performance.md"), report(results));
  writeFileSync(join(DOCS, "performance.svg"), chart(results, results.plan.points[0]!));
}

function report(results: Results): string {
  const { machine, plan } = results;
  return `# Performance

<!-- Written by \`npm run bench\`. Do not edit: change bench/report.ts, or run it again. -->

One run of \`npm run bench\`, ${machine.date.replace("T", " ")} UTC, commit ${machine.commit}. Every call of Portico's carries a
token, and is decided by the rules; nobody else here checks anything.

![Processor time a call](performance.svg)

## How it is measured

The systems take turns, ${plan.rounds} rounds of them. For its turn a system is started, in processes of its own, and stopped after it. It
gets its load from one generator: \`bench/load.ts\`, plain sockets, one call at a time on each connection. A turn begins with
${plan.firstWarmUp / 1000} s of small calls that do not count (a gateway runs for long, and until its hot code is compiled a call costs more), and
has ${plan.duration / 1000} s for each table below, after ${plan.warmUp / 1000} s more that do not count; what stands here are medians. The call is
\`POST /v1/helloworld/call\`; the payload is the size of its body, and the answer is twice as
long. All answers are compared first.

- **Processor time** a call is the figure to trust: what /proc says a process used, divided by its calls. Calls a second and times
  depend on what else runs on the machine, and on the generator, which shares it.
- **Machine**: ${machine.cores} cores of ${machine.model}, ${machine.memory} GiB, Linux ${machine.kernel}. Load average before the run: ${machine.loadBefore.toFixed(1)}${
    machine.loadBefore > 0.5 ? ", so **other work ran at the same time**: only ratios count" : ""
  }.
- **Versions**: ${Object.entries(machine.versions)
    .filter(([, version]) => version)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ")}.
- Portico is started as [deploying](deploying.md) says, with \`--max-semi-space-size=8
  --initial-old-space-size=64\`. Its access log is off
  (\`PORTICO_LOG_LEVEL=warn\`) but where it says otherwise, as nobody else writes one; where it is on, the bench reads it.
- Where a program has workers, its processor time and memory are those of all its processes. The generator and the service
  share the machine's cores with them, so on two cores workers cannot double the calls a second. A body that is refused at
  its end is seen by no service: there only the generator is in their way.
- Node and nginx run one process each but for the workers named, Go as many threads as there are cores.
${results.left.map(({ name, why }) => `- Left out: ${name}: ${why}.\n`).join("")}
## Aims

| aim | found | |
|---|---|---|
${verdicts(results)
  .map(({ aim, found, met }) => `| ${aim} | ${found} | ${met ? "met" : "**not met**"} |`)
  .join("\n")}

${plan.points.map((point) => table(results, point)).join("\n")}
## Start

From the start of the process that callers reach, its data on disk and what is behind it running, to its first answer;
median of ${plan.rounds}.

| | ms |
|---|---:|
${results.systems.map(({ name, start }) => `| ${name} | ${Math.round(start)} |`).join("\n")}
`;
}

function table({ systems }: Results, point: string): string {
  const measured = systems.filter(({ points }) => points[point]);
  return `## ${point}

| | calls/s | p50 ms | p99 ms | processor µs a call | resident MiB |
|---|---:|---:|---:|---|---|
${measured.map((system) => row(system, point)).join("\n")}
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
