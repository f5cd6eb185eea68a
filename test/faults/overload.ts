// What becomes of calls while there are more than `portico server` can answer, and of calls to another service meanwhile. Runs
// the built program and prints rows of Markdown for docs/faults.md. The program has one core, its callers have the other one
// (taskset); callers wait a second for an answer.
//
//     node --import=tsx test/faults/overload.ts [--program dist/portico.js] [--only "0.7 ms"]
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { start } from "../support/process.js";
import type { Load, Outcome } from "./overload-client.js";

const { values: options } = parseArgs({
  options: { program: { type: "string", default: "dist/portico.js" }, only: { type: "string", default: "" } },
});

const qr = (length: number): string => `/qr/generate?format=SVG&correction=HIGH&text=${"a".repeat(length)}`;
const HELLO = "/helloworld/call?name=Ada";

interface Kind {
  readonly title: string;
  readonly path: string;
  readonly kept: boolean;
  /** Callers who ask again as soon as they are answered, at the peak; a multiple of them is the load. Else calls begin at a rate. */
  readonly eager?: number;
  readonly times: readonly number[];
}

const KINDS: readonly Kind[] = [
  { title: "a QR code (1.6 ms)", path: qr(160), kept: true, times: [2, 10] },
  { title: "a small QR code (0.7 ms)", path: qr(60), kept: true, times: [2, 10] },
  { title: "a small call, asked again at once", path: HELLO, kept: true, eager: 64, times: [10] },
  { title: "a small QR code, each over a new connection", path: qr(60), kept: false, times: [2, 10] },
];

/** Callers at the peak. */
const AT_PEAK = 16;
const MAX_CALLERS = 4_000;
const SECONDS = 5;

const CLIENT = fileURLToPath(new URL("overload-client.ts", import.meta.url));
const hasTaskset = spawnSync("taskset", ["-V"]).status === 0;
const onCore = (core: number): string[] => (hasTaskset ? ["taskset", "-c", String(core)] : []);

async function callers(load: Load): Promise<Outcome> {
  const client = [process.execPath, "--import=tsx", CLIENT, JSON.stringify(load)];
  const [command, ...args] = [...onCore(0), ...client] as [string, ...string[]];
  return JSON.parse((await promisify(execFile)(command, args)).stdout);
}

/** A few callers of another service. */
const others = (port: number): Promise<Outcome> =>
  callers({ port, path: "/id/generate", seconds: SECONDS - 1, callers: 4, rate: 50, kept: true });

async function measure({ title, path, kept, eager, times }: Kind): Promise<string[]> {
  const data = mkdtempSync(join(tmpdir(), "portico-overload-"));
  const env = { PORTICO_DATA: data, PORTICO_LOG_LEVEL: "info" };
  const portico = await start(["server"], env, ".", [], { program: resolve(options.program), before: onCore(1) });
  try {
    const port = Number(new URL(portico.address("HTTP")).port);
    const atPeak = { port, path, seconds: SECONDS, callers: eager ?? AT_PEAK, kept };
    await callers(atPeak); // Until the code is compiled.
    const peak = await callers(atPeak);
    const rows = [row(title, "peak", peak, peak, await others(port))];
    for (const factor of times) {
      const rate = peak.granted * factor;
      const load: Load =
        eager === undefined
          ? { ...atPeak, rate, callers: Math.min(MAX_CALLERS, Math.ceil(rate)) }
          : { ...atPeak, callers: eager * factor };
      const under = callers(load);
      await wait(1_500);
      const beside = await others(port);
      rows.push(row("", `${factor} ×`, await under, peak, beside));
    }
    return rows;
  } finally {
    await portico.stop("SIGKILL");
    rmSync(data, { recursive: true, force: true });
  }
}

function row(title: string, load: string, { granted, refused, lost }: Outcome, peak: Outcome, other: Outcome): string {
  const share = `${Math.round((100 * granted) / peak.granted)} %`;
  const beside = other.granted === 0 ? "none" : `${other.p50.toFixed(1)} ms, ${other.p99.toFixed(1)} ms`;
  const unanswered = `${Math.round((100 * (other.refused + other.lost)) / 50)} %`;
  const cells = [title, load, ...[granted, refused, lost].map((count) => Math.round(count).toLocaleString("en"))];
  return `| ${[...cells, share, beside, unanswered].join(" | ")} |`;
}

const lines = [
  "| calls | load | granted in a second | refused | lost | of the peak | another service's calls: p50, p99 | refused or lost |",
  "|---|---|---|---|---|---|---|---|",
];
for (const kind of KINDS.filter(({ title }) => title.includes(options.only))) {
  for (const line of await measure(kind)) {
    console.error(line);
    lines.push(line);
  }
}
console.log(lines.join("\n"));
