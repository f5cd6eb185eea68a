// Measures calls when callers send more than a service in another process can serve, and calls to
// another service through the same gateway meanwhile. Runs the built program, and prints rows of
// Markdown for docs/faults.md. The flooded service has one core if it needs one, and everything
// else the other one (taskset). A caller waits one second for a response.
//
//     node --import=tsx test/faults/overload-upstream.ts [--program PATH] [--only external]
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Portico, start } from "../support/process.js";
import { callers, onCore, printTable, row } from "./callers.js";
import type { Outcome } from "./overload-client.js";

const { values: options } = parseArgs({
  options: { program: { type: "string", default: "dist/portico.js" }, only: { type: "string", default: "" } },
});

/** A service that is flooded. */
interface Kind {
  readonly title: string;
  readonly path: string;
  /** Starts an external service, before the authority, with the data folder of the authority. */
  readonly startExternal?: (data: string) => Promise<ChildProcess>;
  readonly builtIn?: string;
}

const KINDS: readonly Kind[] = [
  {
    title: "a QR code (1.6 ms), `portico service`",
    path: `/qr/generate?format=SVG&correction=HIGH&text=${"a".repeat(160)}`,
    builtIn: "qr",
  },
  { title: "an external service with a lock (4 ms)", path: "/clerk/serve", startExternal: startClerk },
];

/** The number of callers at the peak. Each calls again after each response. */
const AT_PEAK = 16;
const MAX_CALLERS = 4_000;
const SECONDS = 8;
const TIMES = [1, 2, 10];
/** How long a flood takes until it has its full effect, in milliseconds. */
const ONSET = 1_500;

async function startClerk(data: string): Promise<ChildProcess> {
  const descriptors = join(data, "clerk.binpb");
  execFileSync("node_modules/.bin/buf", ["build", "test/faults/clerk.proto", "-o", descriptors]);
  const child = spawn(process.execPath, ["test/faults/clerk.mjs", "127.0.0.1:0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data", { signal: AbortSignal.timeout(10_000) });
  const target = /listening on (\S+)/.exec(line)?.[1];
  writeFileSync(join(data, "portico.json"), JSON.stringify({ services: [{ name: "clerk", target, descriptors }] }));
  return child;
}

/**
 * Starts the processes of a kind: an authority, a gateway, the flooded service, and another one.
 */
async function startAll(
  { startExternal, builtIn }: Kind,
  data: string,
  started: (Portico | ChildProcess)[],
): Promise<number> {
  const run = async (role: string[], core: number, env = {}): Promise<Portico> => {
    const settings = { PORTICO_DATA: data, PORTICO_LOG_LEVEL: "info", ...env };
    const launch = { program: resolve(options.program), before: onCore(core) };
    const portico = await start(role, settings, ".", [], launch);
    started.push(portico);
    return portico;
  };
  if (startExternal !== undefined) started.push(await startExternal(data));
  const authority = await run(["authority"], 0);
  const joined = { PORTICO_AUTHORITY: authority.address("gRPC") };
  const gateway = await run(["gateway"], 0, joined);
  await run(["service", "id"], 0, joined);
  if (builtIn !== undefined) await run(["service", builtIn], 1, joined);
  return Number(new URL(gateway.address("HTTP")).port);
}

async function untilServed(port: number, path: string): Promise<void> {
  for (const late = performance.now() + 10_000; ; await wait(50)) {
    const { status } = await fetch(`http://127.0.0.1:${port}${path}`);
    if (status === 200) return;
    if (performance.now() > late) throw new Error(`${path} is answered by ${status}`);
  }
}

const others = (port: number): Promise<Outcome> =>
  callers({ port, path: "/id/generate", seconds: SECONDS - 3, callers: 4, rate: 50, kept: true });

async function measure(kind: Kind): Promise<string[]> {
  const { title, path } = kind;
  const data = mkdtempSync(join(tmpdir(), "portico-overload-"));
  const started: (Portico | ChildProcess)[] = [];
  try {
    const port = await startAll(kind, data, started);
    for (const each of [path, "/id/generate"]) await untilServed(port, each);
    const atPeak = { port, path, seconds: 5, callers: AT_PEAK, kept: true };
    await callers(atPeak); // Warms up: V8 compiles the code.
    const peak = await callers(atPeak);
    const rows = [row(title, "peak", peak, peak, await others(port))];
    for (const factor of TIMES) {
      const rate = peak.granted * factor;
      const under = callers({ ...atPeak, seconds: SECONDS, rate, callers: Math.min(MAX_CALLERS, Math.ceil(rate)) });
      await wait(ONSET);
      const beside = await others(port);
      rows.push(row("", `${factor} ×`, await under, peak, beside));
      await wait(ONSET);
    }
    return rows;
  } finally {
    for (const each of started) {
      if ("stop" in each) await each.stop("SIGKILL");
      else each.kill("SIGKILL");
    }
    rmSync(data, { recursive: true, force: true });
  }
}

await printTable(KINDS, options.only, measure);
