// A start that fails closes what it has opened, at whatever part it fails, and the process ends.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import t, { type Test } from "tap";
import { installation } from "../../support/installation.js";
import { start } from "../../support/process.js";

/**
 * Much more than the second that it should take, because tests in other processes use processor
 * time too.
 */
const PATIENCE = 60_000;
const PORTS = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };

const taken = createServer().listen(0, "127.0.0.1");
await once(taken, "listening");
t.teardown(() => taken.close());
/** Accepts connections and sends nothing. */
taken.on("connection", (socket) => t.teardown(() => socket.destroy()));
const inUse = `127.0.0.1:${(taken.address() as { port: number }).port}`;

const data = await installation(t.testdir());
const authority = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => authority.stop());
const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: authority.address("gRPC") };

/**
 * A folder whose configuration names a service. Following this service keeps a process alive until
 * it stops following.
 */
function withServices(t: Test): string {
  const folder = t.testdir();
  writeFileSync(join(folder, "portico.json"), JSON.stringify({ services: [{ name: "shop", target: "127.0.0.1:1" }] }));
  return folder;
}

/** Runs a role until it ends by itself, or by the signal that `disturb` sends. */
async function run(role: readonly string[], env: Record<string, string>, disturb?: (child: ChildProcess) => void) {
  const child = spawn(process.execPath, [resolve("dist/portico.js"), ...role], {
    env: { PATH: process.env.PATH, HOME: data, PORTICO_LOG_LEVEL: "warn", ...PORTS, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  disturb?.(child);
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
  const [code, signal] = await once(child, "close");
  clearTimeout(late);
  return { ended: code ?? signal, output };
}

const rows: [title: string, role: string[], setting: string, joins: boolean][] = [
  ["server: gRPC port, with services configured", ["server"], "PORTICO_GRPC", false],
  ["server: HTTP port", ["server"], "PORTICO_HTTP", false],
  ["server: admin port, the last to be opened", ["server"], "PORTICO_ADMIN", false],
  ["authority: gRPC port", ["authority"], "PORTICO_GRPC", false],
  ["authority: admin port", ["authority"], "PORTICO_ADMIN", false],
  ["gateway: HTTP port", ["gateway"], "PORTICO_HTTP", true],
  ["gateway: admin port", ["gateway"], "PORTICO_ADMIN", true],
  ["workers: HTTP port", ["gateway", "--workers=2"], "PORTICO_HTTP", true],
  ["service: gRPC port", ["service", "helloworld"], "PORTICO_GRPC", true],
  ["service: admin port", ["service", "helloworld"], "PORTICO_ADMIN", true],
];

for (const [title, role, setting, joins] of rows) {
  t.test(`a port in use ends the start: ${title}`, async (t) => {
    const env = joins ? joined : { PORTICO_DATA: withServices(t) };
    const { ended, output } = await run(role, { ...env, [setting]: inUse });
    t.equal(ended, 1, output);
    t.match(output, new RegExp(`${inUse} is in use; name another address in ${setting}`));
  });
}

t.test("SIGTERM ends a start that waits for the authority", async (t) => {
  const { ended, output } = await run(["gateway"], { ...joined, PORTICO_AUTHORITY: inUse }, (child) =>
    taken.once("connection", () => child.kill("SIGTERM")),
  );
  t.equal(ended, 1, output);
  t.match(output, /Stopped before it was ready\n$/);
  t.notMatch(output, /Ready/);
});
