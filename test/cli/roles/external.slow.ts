// A service in any language joins by configuration: a plain grpc-js server that does not know
// Portico. Its contract is read by server reflection or from a descriptor file.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { call, start } from "../../support/process.js";
import { socketPath } from "../../support/temporary.js";
import { inTime, until } from "../../support/until.js";

const authority = createAuthority("authority");
const greeter = authority.issue("localhost");
const portico = authority.issue("portico");
const folder = t.testdir({
  "ca.pem": authority.cert,
  "greeter.pem": greeter.cert,
  "greeter.key": greeter.key,
  "portico.pem": portico.cert,
  "portico.key": portico.key,
});
const TLS = {
  PORTICO_TLS_CA: join(folder, "ca.pem"),
  PORTICO_TLS_CERT: join(folder, "portico.pem"),
  PORTICO_TLS_KEY: join(folder, "portico.key"),
};

const descriptors = join(folder, "greeter.binpb");
execFileSync("node_modules/.bin/buf", ["build", "examples/external-greeter", "-o", descriptors]);

async function externalGreeter(t: Test, address: string, ...args: string[]): Promise<string> {
  const child = spawn(process.execPath, ["examples/external-greeter/server.js", address, ...args]);
  t.teardown(() => child.kill());
  const [line] = await inTime(once(child.stdout.setEncoding("utf8"), "data"), "the greeter listens");
  return /listening on (\S+)/.exec(line)?.[1] ?? "";
}

/** Calls until the endpoint exists. */
async function greet(http: string) {
  const ask = () => call(`${http}/greeter/greet?first_name=Ada`);
  await until(async () => (await ask()).status !== 404);
  return ask();
}

const ways: [way: string, args: string[], file: string | undefined][] = [
  ["by reflection", [descriptors], undefined],
  ["from a descriptor file", [], descriptors],
];

for (const [way, args, file] of ways) {
  t.test(`joins ${way}`, async (t) => {
    const target = await externalGreeter(t, "127.0.0.1:0", ...args);
    const data = await installation(t.testdir());
    const services = [{ name: "greeter", target, descriptors: file }];
    writeFileSync(join(data, "portico.json"), JSON.stringify({ services }));
    const portico = await start(["server", "--services", "none"], { PORTICO_DATA: data });
    t.teardown(() => portico.stop());
    const http = portico.address("HTTP");
    t.same((await greet(http)).body, { greeting: "Greetings Ada" });
    const listed = await call(`${http}/registry/list`, {});
    t.match(listed.body, { services: [{ name: "auth" }, { name: "greeter", instances: 1 }] });
  });
}

for (const transport of ["http2", "grpc-js"]) {
  t.test(`joins over mutual TLS, and at a unix socket: ${transport}`, async (t) => {
    const tls = join(folder, "greeter");
    const target = await externalGreeter(t, "127.0.0.1:0", descriptors, `${tls}.pem`, `${tls}.key`, TLS.PORTICO_TLS_CA);
    const socket = await externalGreeter(t, `unix:${socketPath(t)}`, descriptors);
    for (const [reached, settings] of [
      [`grpcs://${target}`, TLS],
      [socket, {}],
    ] as const) {
      const data = await installation(t.testdir());
      writeFileSync(join(data, "portico.json"), JSON.stringify({ services: [{ name: "greeter", target: reached }] }));
      const server = await start(["server"], { PORTICO_DATA: data, PORTICO_TRANSPORT: transport, ...settings });
      t.teardown(() => server.stop());
      t.same((await greet(server.address("HTTP"))).body, { greeting: "Greetings Ada" }, reached);
    }
  });
}

t.test("logs a service whose certificate is not trusted", async (t) => {
  const tls = join(folder, "greeter");
  const target = await externalGreeter(t, "127.0.0.1:0", descriptors, `${tls}.pem`, `${tls}.key`);
  const data = await installation(t.testdir());
  const services = [{ name: "greeter", target: `grpcs://${target}` }];
  writeFileSync(join(data, "portico.json"), JSON.stringify({ services }));
  const server = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => server.stop());
  await until(() => server.errors().includes("cannot be read"));
  const lines = server.errors().split("\n");
  const { reason } = JSON.parse(lines.find((line) => line.includes("cannot be read")) as string);
  t.match(reason, /^grpcs:\/\/127\.0\.0\.1:\d+ cannot be reached \(.*certificate.*\); start it, .* or PORTICO_TLS_CA$/);
});
