// What a gateway may have the command line do at a login: it opens pages of http and https alone,
// shows text without control characters, and nothing that reaches its port ends it.
import { createServer, get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import t, { type Test } from "tap";
import { loginByCode, loginInBrowser } from "../../../cli/http/oauth-login.js";
import type { Io } from "../../../cli/terminal/io.js";

/** A gateway that responds with these objects, and what the command writes. */
async function gatewayOf(t: Test, replies: Record<string, object>) {
  const server: Server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(replies[request.url ?? ""] ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const [stderr, stopping] = [new PassThrough(), new AbortController()];
  let written = "";
  stderr.on("data", (chunk) => {
    written += chunk;
  });
  // `true` is a program that opens nothing.
  const io = { stdin: process.stdin, stdout: stderr, stderr, env: { BROWSER: "true" }, signal: stopping.signal } as Io;
  const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return { base, io, stop: () => stopping.abort(), written: () => written };
}

const METADATA = "/.well-known/oauth-authorization-server";

for (const endpoint of ["file:///etc/passwd", "vscode://x/y", "javascript:alert(1)", "nothing", 1]) {
  t.test(`${endpoint} is not opened`, async (t) => {
    const { base, io, written } = await gatewayOf(t, { [METADATA]: { issuer: "i", authorization_endpoint: endpoint } });
    await t.rejects(loginInBrowser(base, io), /names no page of http or https where people log in/);
    t.equal(written(), "");
  });
}

t.test("a code is shown without control characters", async (t) => {
  const device = { device_code: "d", user_code: "AB\u001b[2J\rCD", verification_uri: "https://a.example", interval: 0 };
  const replies = { "/oauth/device_authorization": device, "/oauth/token": { access_token: "a" } };
  const { base, io, written } = await gatewayOf(t, replies);
  await loginByCode(base, io);
  t.notOk(written().includes("\u001b") || written().includes("\r"), written());
  t.match(written(), /AB.*CD/);
});

t.test("a request that is no URL does not end a login", async (t) => {
  const endpoint = "https://a.example/oauth/authorize";
  const { base, io, stop, written } = await gatewayOf(t, {
    [METADATA]: { issuer: "i", authorization_endpoint: endpoint },
  });
  const login = loginInBrowser(base, io);
  login.catch(() => undefined);
  let uri: string | null = null;
  while (uri === null) {
    await new Promise((resolve) => setImmediate(resolve));
    const url = /https:\S+/.exec(written())?.[0];
    uri = url === undefined ? null : new URL(url).searchParams.get("redirect_uri");
  }
  const { port } = new URL(uri);
  const socket = connect(Number(port), "127.0.0.1", () => socket.write("GET *[ HTTP/1.1\r\nHost: a\r\n\r\n"));
  t.match(await new Promise((resolve) => socket.once("data", resolve)), /^HTTP\/1.1 404/);
  const status = await new Promise((resolve) => get(uri, (response) => resolve(response.statusCode)));
  t.equal(status, 404, "without state");
  stop();
  await t.rejects(login, /Interrupted/);
});
