// A program that looks like Portico at first, and then responds with other JSON or not at all, is a
// finding, not an error of `portico doctor`.
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
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

/** Opens a port that accepts connections and never responds, as a process that hangs. */
async function silent(t: Test): Promise<string> {
  const server = createTcpServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket.on("error", () => {})));
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
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

for (const variable of ["PORTICO_HTTP", "PORTICO_GRPC", "PORTICO_ADMIN"]) {
  t.test(`a process that hangs, at ${variable}`, async (t) => {
    const findings = await examine(t, ["server"], { ...PORTS, [variable]: await silent(t) });
    t.match(
      findings.filter(({ check, state }) => check === "ports" && state === "problem"),
      [
        {
          text: new RegExp(
            `^What listens on .* \\(${variable}\\) does not respond within 2 s: if it is this process, it hangs`,
          ),
        },
      ],
    );
  });
}

t.test("a service that hangs behind a gateway that responds", async (t) => {
  const list = JSON.stringify({ services: [{ name: "helloworld" }] });
  const server = createServer(({ url }, response) => {
    if (url === "/helloworld/Call") return;
    response.setHeader("Content-Type", "application/json").end(url === "/livez" ? '{"Status":"alive"}' : list);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const findings = await examine(t, ["--url", `http://127.0.0.1:${port}`]);
  t.match(
    findings.filter(({ state }) => state === "problem"),
    [
      {
        check: "call",
        text: /did not respond within 2 s\. Other calls are responded to: if helloworld hangs, restart it/,
      },
    ],
  );
});
