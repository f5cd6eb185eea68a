// Measures calls when callers send more than `portico server` can serve, and calls to another
// service meanwhile. Runs the built program, and prints rows of Markdown for docs/faults.md. The
// program has one core and its callers the other one (taskset). A caller waits one second for a
// response.
//
//     node --import=tsx test/faults/overload.ts [--program dist/portico.js] [--only "0.7 ms"]
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createAuthority } from "../http2/certificates.js";
import { start } from "../support/process.js";
import { callers, onCore, printTable, row } from "./callers.js";
import type { Target } from "./lines.js";
import type { Load, Outcome } from "./overload-client.js";

const { values: options } = parseArgs({
  options: { program: { type: "string", default: "dist/portico.js" }, only: { type: "string", default: "" } },
});

const qr = (length: number): string => `/qr/generate?format=SVG&correction=HIGH&text=${"a".repeat(length)}`;
const HELLO = "/helloworld/call?name=Ada";

interface Kind {
  readonly title: string;
  readonly path: string;
  readonly version?: "HTTP/2";
  readonly tls?: boolean;
  readonly kept: boolean;
  /**
   * The number of callers at the peak who call again at once after each response. The load is a
   * multiple of that number. Without it, calls begin at a fixed rate.
   */
  readonly eager?: number;
  readonly times: readonly number[];
}

const KINDS: readonly Kind[] = [
  { title: "a QR code (1.6 ms)", path: qr(160), kept: true, times: [2, 10] },
  { title: "a small QR code (0.7 ms)", path: qr(60), kept: true, times: [2, 10] },
  { title: "a small call, asked again at once", path: HELLO, kept: true, eager: 64, times: [10] },
  { title: "a small QR code, each over a new connection", path: qr(60), kept: false, times: [2, 10] },
  { title: "a small QR code, TLS", path: qr(60), tls: true, kept: true, times: [10] },
  { title: "a small QR code, HTTP/2", path: qr(60), version: "HTTP/2", kept: true, times: [2, 10] },
  { title: "a small QR code, HTTP/2 over TLS", path: qr(60), version: "HTTP/2", tls: true, kept: true, times: [10] },
  {
    title: "a small call, HTTP/2, asked again at once",
    path: HELLO,
    version: "HTTP/2",
    kept: true,
    eager: 64,
    times: [10],
  },
];

/** The number of callers at the peak. */
const AT_PEAK = 16;
const MAX_CALLERS = 4_000;
const SECONDS = 5;
/**
 * The callers of the other service share a core with the flood. The flood gets a lower priority, so
 * that they do not measure their own wait for the core.
 */
const FLOOD_NICENESS = 10;

/** Settings for a port that speaks TLS. */
function certified(folder: string): Record<string, string> {
  const { cert, key } = createAuthority("authority").issue("localhost");
  const [certFile, keyFile] = [join(folder, "own.pem"), join(folder, "own.key")];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  return { PORTICO_HTTP_TLS_CERT: certFile, PORTICO_HTTP_TLS_KEY: keyFile };
}

/** A few callers of another service. */
const others = (target: Target): Promise<Outcome> =>
  callers({ ...target, path: "/id/generate", seconds: SECONDS - 1, callers: 4, rate: 50, kept: true });

async function measure({ title, path, version, tls, kept, eager, times }: Kind): Promise<string[]> {
  const data = mkdtempSync(join(tmpdir(), "portico-overload-"));
  const env = { PORTICO_DATA: data, PORTICO_LOG_LEVEL: "info", ...(tls ? certified(data) : {}) };
  const portico = await start(["server"], env, ".", [], { program: resolve(options.program), before: onCore(1) });
  try {
    const target = { port: Number(new URL(portico.address("HTTPS?")).port), path, version, tls };
    const atPeak = { ...target, seconds: SECONDS, callers: eager ?? AT_PEAK, kept };
    await callers(atPeak); // Warms up: V8 compiles the code.
    const peak = await callers(atPeak);
    const rows = [row(title, "peak", peak, peak, await others(target))];
    const flood = (factor: number, seconds = SECONDS): Promise<Outcome> => {
      const rate = peak.granted * factor;
      const load: Load =
        eager === undefined
          ? { ...atPeak, rate, callers: Math.min(MAX_CALLERS, Math.ceil(rate)) }
          : { ...atPeak, callers: eager * factor };
      return callers({ ...load, seconds }, FLOOD_NICENESS);
    };
    await flood(times.at(-1) as number, 4); // Warms up the code that refuses calls.
    for (const factor of times) {
      const under = flood(factor);
      await wait(1_500);
      const beside = await others(target);
      rows.push(row("", `${factor} ×`, await under, peak, beside));
    }
    return rows;
  } finally {
    await portico.stop("SIGKILL");
    rmSync(data, { recursive: true, force: true });
  }
}

await printTable(KINDS, options.only, measure);
