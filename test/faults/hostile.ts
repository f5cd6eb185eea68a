// Measures what hostile connections cost a process: 1, 150 and 10,000 of them, each from its own
// address, over HTTP and gRPC. Runs the built program, and prints rows of Markdown for
// docs/faults.md. Needs Linux (/proc, 127.0.0.0/8) and 20,000 open files (`ulimit -n`). With fewer
// files it opens fewer connections, and prints how many.
//
//     node --import=tsx test/faults/hostile.ts [--program dist/portico.js] [--counts 1,150] \
//         [--only pipelined]
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    program: { type: "string", default: "dist/portico.js" },
    only: { type: "string" },
    counts: { type: "string", default: "1,150,10000" },
  },
});

const ATTACKS: readonly { readonly name: string; readonly port: "HTTP" | "gRPC"; readonly does: string }[] = [
  { name: "idle", port: "HTTP", does: "connect and say nothing" },
  { name: "answers not read", port: "HTTP", does: "ask for 2 MiB and read nothing" },
  { name: "pipelined", port: "HTTP", does: "ask 1,000 times at once for a document and read nothing" },
  { name: "uploads not finished", port: "HTTP", does: "send 4 MiB but for the last byte" },
  { name: "streams not read", port: "HTTP", does: "ask for 1,000 messages of 2 MiB and read nothing" },
  { name: "half a WebSocket message", port: "HTTP", does: "send 4 MiB of a message but for the last byte" },
  { name: "idle", port: "gRPC", does: "introduce themselves and say nothing" },
  { name: "window 0", port: "gRPC", does: "make 100 calls whose answers of 4 MiB they do not let through" },
  { name: "unfinished logins", port: "gRPC", does: "begin 90 logins of 2.7 MiB each" },
  { name: "half a header block", port: "gRPC", does: "send 60 kB of a header block and no end" },
];

/**
 * How long an attack is observed at most, in milliseconds. It also ends when the memory stops
 * growing, or reaches MAX_MIB.
 */
const WATCH_MS = 20_000;
const SETTLED_MS = 4_000;
const MAX_MIB = 2_048;

const CLIENT = fileURLToPath(new URL("hostile-client.ts", import.meta.url));

interface Server {
  readonly child: ChildProcess;
  readonly data: string;
  address(word: string): { host: string; port: number };
}

async function start(maxConnections: number): Promise<Server> {
  const data = mkdtempSync(join(tmpdir(), "portico-hostile-"));
  const any = "127.0.0.1:0";
  const flags = ["--max-semi-space-size=8", "--initial-old-space-size=64", resolve(options.program), "server"];
  const child = spawn(process.execPath, flags, {
    env: {
      ...{ PATH: process.env.PATH, HOME: data, PORTICO_DATA: data, PORTICO_LOG_LEVEL: "error" },
      ...{ PORTICO_HTTP: any, PORTICO_GRPC: any, PORTICO_ADMIN: any },
      PORTICO_MAX_CONNECTIONS: String(maxConnections),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  while (!/^ *Ready/m.test(output)) await once(child.stdout, "data");
  return {
    child,
    data,
    address(word) {
      const [host = "", port] = (new RegExp(`^ *${word} +(?:http://)?(\\S+)`, "m").exec(output)?.[1] ?? "").split(":");
      return { host, port: Number(port) };
    },
  };
}

/** Resident memory of a process, in MiB. */
function memory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024);
}

/** The memory that the system uses for all TCP connections of the machine, in MiB. */
function kernelMemory(): number {
  const pages = /^TCP: .* mem (\d+)/m.exec(readFileSync("/proc/net/sockstat", "latin1"))?.[1];
  return Math.round((Number(pages) * 4096) / 2 ** 20);
}

/**
 * Calls from another address during the attack. Returns the call's milliseconds, or what went
 * wrong.
 */
async function bystander(server: Server, bytes: number): Promise<string> {
  const { port } = server.address("HTTP");
  const started = performance.now();
  try {
    const response = await fetch(`http://127.0.0.1:${port}/helloworld/call`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "a".repeat(bytes) }),
      signal: AbortSignal.timeout(10_000),
    });
    await response.arrayBuffer();
    return response.ok ? `${Math.round(performance.now() - started)} ms` : String(response.status);
  } catch (error) {
    return (error as Error).name === "TimeoutError" ? "none in 10 s" : "connection refused";
  }
}

interface Cost {
  readonly connections: number;
  readonly before: number;
  readonly peakMib: number;
  readonly kernel: number;
  readonly stopped: boolean;
  readonly small: string;
  readonly large: string;
}

async function attack(name: string, port: "HTTP" | "gRPC", count: number): Promise<Cost> {
  const server = await start(count + 100);
  const pid = server.child.pid as number;
  await bystander(server, 1_000);
  await wait(500);
  const before = memory(pid);
  const kernelBefore = kernelMemory();
  const { host, port: number } = server.address(port);
  const args = ["--import=tsx", CLIENT, `${port} ${name}`, host, String(number), String(count)];
  const client = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let connected = 0;
  client.stdout.setEncoding("utf8").on("data", (text: string) => {
    connected = Number(text.trim().split("\n").at(-1));
  });
  let peakMib = before;
  let kernel = 0;
  let grown = performance.now();
  let small = "";
  let large = "";
  const started = performance.now();
  while (performance.now() - started < WATCH_MS && server.child.exitCode === null) {
    await wait(50);
    const now = memory(pid);
    if (now > peakMib + 2) grown = performance.now();
    peakMib = Math.max(peakMib, now);
    kernel = Math.max(kernel, kernelMemory() - kernelBefore);
    if (peakMib > MAX_MIB) break;
    if (connected === count && performance.now() - grown > SETTLED_MS) break;
  }
  const stopped = peakMib > MAX_MIB;
  if (!stopped) {
    small = await bystander(server, 10);
    large = await bystander(server, 2 ** 20);
    peakMib = Math.max(peakMib, memory(pid));
  }
  client.kill("SIGKILL");
  server.child.kill("SIGKILL");
  await Promise.all([once(client, "exit"), server.child.exitCode ?? once(server.child, "exit")]);
  rmSync(server.data, { recursive: true, force: true });
  return { connections: connected, before, peakMib, kernel, stopped, small, large };
}

console.log(
  "| they | connections | memory before, MiB | at most | TCP buffers of the system | another's small call | another's 1 MiB |",
);
console.log("|---|---|---|---|---|---|---|");
for (const { name, port, does } of ATTACKS) {
  if (options.only !== undefined && options.only !== name) continue;
  for (const count of options.counts.split(",").map(Number)) {
    const { connections, before, peakMib, kernel, stopped, small, large } = await attack(name, port, count);
    const reached = connections < count ? `${connections} of ${count}` : String(count);
    const peak = stopped ? `over ${MAX_MIB}` : String(peakMib);
    console.log(`| ${port}: ${does} | ${reached} | ${before} | ${peak} | ${kernel} | ${small} | ${large} |`);
  }
}
