// A program that looks like Portico at first, and then responds with other JSON, is a finding, not
// an error of `portico doctor`.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import type { Finding } from "../../../cli/doctor/finding.js";
import { portico } from "../command-line.js";

/** Opens a server that is alive, and responds to all else with this body. Returns its address. */
async function alive(t: Test, body: string): Promise<string> {
  const server = createServer(({ url }, response) => {
    response.setHeader("Content-Type", "application/json").end(url === "/livez" ? '{"Status":"alive"}' : body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close().closeAllConnections());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function examine(t: Test, words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<readonly Finding[]> {
  const { exit, stdout, stderr } = await portico(["doctor", ...words, "-o", "json"], {
    env: { PORTICO_DATA: t.testdir(), ...env },
  });
  t.equal(exit, 1, stderr);
  return JSON.parse(stdout);
}

const PORTS = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
const ofOther = /^A call of the registry failed: the response is not Portico's \(HTTP 200\)/;
const withoutCall = /^The registry responded\. No service was called/;

for (const [body, state, text] of [
  ["null", "problem", ofOther],
  ['{"services":{}}', "problem", ofOther],
  ['{"services":[null]}', "unchecked", withoutCall],
] as const) {
  t.test(`at the HTTP port: ${body}`, async (t) => {
    const findings = await examine(t, ["gateway", "--url", `http://${await alive(t, body)}`], PORTS);
    t.match(
      findings.filter(({ check }) => check === "call"),
      [{ state, text }],
    );
  });
}

t.test("at the admin port: null", async (t) => {
  const findings = await examine(t, ["server"], { ...PORTS, PORTICO_ADMIN: await alive(t, "null") });
  t.match(
    findings.filter(({ check }) => check === "ready"),
    [{ state: "problem", text: "/readyz of the process is 200: not Portico's response" }],
  );
});
