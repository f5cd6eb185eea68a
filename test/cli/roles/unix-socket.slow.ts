// Portico on a Unix socket, as its user sees it: the banner, calls, the restart after a crash, a
// second process, workers, and settings that are refused.
import { existsSync, lstatSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { refused, start } from "../../support/process.js";
import { socketPath } from "../../support/temporary.js";
import { portico } from "../command-line.js";

const PATH = "/helloworld/call?name=Ada";

async function ask(socketPath: string, headers: Record<string, string> = {}, path = PATH) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ socketPath, path, headers, timeout: 10_000 }, resolve).on("error", reject).end();
  });
  return { status: response.statusCode, body: await text(response) };
}

async function startAt(t: Test, path: string, env: Record<string, string> = {}) {
  const server = await start(["server"], { PORTICO_DATA: await data, PORTICO_HTTP: `unix:${path}`, ...env });
  t.teardown(() => server.stop("SIGKILL"));
  return server;
}

const data = installation(t.testdir());

t.test("a server serves its socket, also after a crash, and removes it when it stops", async (t) => {
  const path = socketPath(t);
  const crashed = await startAt(t, path);
  t.equal(crashed.address("HTTP"), `unix:${path}`);
  t.match(crashed.output(), `curl --unix-socket ${path} 'http://localhost${PATH}'`);
  t.notMatch(crashed.output(), "login", "without an address that the command line can use");
  t.match(await ask(path), { status: 200, body: /Hello Ada/ });
  t.match(await ask(path, { host: "api.example.com" }), { status: 421, body: /PORTICO_HTTP_HOSTS/ });

  const second = await refused(["server"], { PORTICO_DATA: t.testdir(), PORTICO_HTTP: `unix:${path}`, ...OTHER_PORTS });
  t.equal(second.code, 1);
  t.match(second.output, `unix:${path} is in use; name another address in PORTICO_HTTP\n`);
  const doctor = await portico(["doctor", "server"], {
    env: { PORTICO_DATA: await data, PORTICO_HTTP: `unix:${path}`, ...OTHER_PORTS },
  });
  t.match(doctor.stdout, `Portico responds at unix:${path} (PORTICO_HTTP)`);

  await crashed.stop("SIGKILL");
  t.ok(existsSync(path), "left behind");
  const env = { PORTICO_PUBLIC_URL: "https://api.example.com", PORTICO_HTTP_HOSTS: "api.example.com" };
  const server = await startAt(t, path, env);
  t.equal(server.address("Explore"), "https://api.example.com/explore", "the banner has the proxy's address");
  t.match(server.output(), "login --url https://api.example.com");
  t.match(await ask(path, { host: "api.example.com" }), { status: 200 });
  t.equal(await server.stop(), 0);
  t.notOk(existsSync(path));
});

t.test("workers share the socket", async (t) => {
  const server = await start(["server"], { PORTICO_DATA: await data });
  t.teardown(() => server.stop("SIGKILL"));
  const path = socketPath(t);
  const env = { PORTICO_DATA: await data, PORTICO_AUTHORITY: server.address("gRPC"), PORTICO_HTTP: `unix:${path}` };
  const crashed = await start(["gateway", "--workers=2"], env);
  t.equal(lstatSync(path).mode & 0o777, 0o660);
  t.match(await ask(path), { status: 200 });
  const second = await refused(["gateway", "--workers=2"], { ...env, ...OTHER_PORTS });
  t.match(second, { code: 1, output: /is in use; name another address in PORTICO_HTTP\n/ });
  await crashed.stop("SIGKILL");
  const gateways = await start(["gateway", "--workers=2"], env);
  t.teardown(() => gateways.stop("SIGKILL"));
  t.match(await ask(path), { status: 200 });
  t.equal(await gateways.stop(), 0);
  t.notOk(existsSync(path));
  t.equal(await server.stop(), 0);
});

const OTHER_PORTS = { PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
const own = createAuthority("authority").issue("localhost");
const folder = t.testdir({ "own.pem": own.cert, "own.key": own.key });
const TLS = { PORTICO_HTTP_TLS_CERT: join(folder, "own.pem"), PORTICO_HTTP_TLS_KEY: join(folder, "own.key") };

t.test("TLS on the socket is refused", async (t) => {
  const env = { PORTICO_DATA: await installation(t.testdir()), PORTICO_HTTP: `unix:${socketPath(t)}`, ...OTHER_PORTS };
  const output = /PORTICO_HTTP_TLS_CERT is set, but PORTICO_HTTP is a Unix socket.* let the proxy speak TLS/;
  t.match(await refused(["server"], { ...env, ...TLS }), { code: 2, output });
});
