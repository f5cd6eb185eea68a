// A server whose HTTP port has TLS, as a user sees it: the banner, the command line, the pages, and
// a start that is refused.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { get } from "node:https";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import t from "tap";
import { createAuthority } from "../../http2/certificates.js";
import { installation } from "../../support/installation.js";
import { refused, start } from "../../support/process.js";

const authority = createAuthority("authority");
const own = authority.issue("localhost");
const folder = t.testdir({ "ca.pem": authority.cert, "own.pem": own.cert, "own.key": own.key, data: {}, home: {} });
const data = await installation(join(folder, "data"));
const files = {
  PORTICO_HTTP_TLS_CERT: join(folder, "own.pem"),
  PORTICO_HTTP_TLS_KEY: join(folder, "own.key"),
};

const server = await start(["server"], { PORTICO_DATA: data, PORTICO_HTTP_HOSTS: "portico.test", ...files });
t.teardown(() => server.stop());
const url = server.address("HTTP");
const ca = authority.cert;

/** A response over HTTP/1.1. */
async function ask(path: string, headers: Record<string, string> = {}) {
  const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
    get(`${url}${path}`, { ca, servername: "localhost", headers }, resolve).on("error", reject);
  });
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

t.test("the banner shows the addresses of the port and the pages", async (t) => {
  t.match(url, /^https:\/\/127\.0\.0\.1:\d+$/);
  t.equal(server.address("Explore"), `${url}/explore`);
  t.match(server.output(), new RegExp(`curl '${url}/helloworld/call\\?name=Ada'`));
  t.match(server.output(), new RegExp(`login --url ${url}`));
});

/** The output of the command line, which trusts the certificate authority. */
async function portico(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const options = {
    env: {
      PATH: process.env.PATH ?? "",
      HOME: join(folder, "home"),
      PORTICO_URL: url,
      NODE_EXTRA_CA_CERTS: join(folder, "ca.pem"),
      ...env,
    },
    timeout: 60_000,
  };
  return (await promisify(execFile)(process.execPath, [resolve("dist/portico.js"), ...args], options)).stdout;
}

t.test(
  "a user logs in and calls with the command line, which trusts the certificate authority by NODE_EXTRA_CA_CERTS",
  async (t) => {
    const password = readFileSync(join(data, "admin-password"), "utf8").trim();
    await portico(["login"], { PORTICO_PASSWORD: password });
    t.match(await portico(["auth", "list", "rules"]), /default/);
    t.match(await portico(["call", "helloworld", "Call", '{"name":"Ada"}']), /Hello Ada/);
  },
);

t.test("pages and calls are served over both versions of HTTP", async (t) => {
  t.match(await ask("/explore"), { status: 200, body: /<html/i });
  t.match(await ask("/helloworld/call?name=Ada"), { status: 200, body: /Hello Ada/ });
  const session = connect(url, { ca });
  t.teardown(() => session.destroy());
  t.match(await text(session.request({ ":path": "/helloworld/call?name=Ada" })), /Hello Ada/);
});

t.test("Strict-Transport-Security is sent, but not for a loopback name", async (t) => {
  const host = (name: string) => ask("/livez", { host: name });
  t.equal((await host("portico.test")).headers["strict-transport-security"], "max-age=31536000");
  for (const name of ["localhost", "127.0.0.1:8080", "[::1]:8080"]) {
    t.equal((await host(name)).headers["strict-transport-security"], undefined, name);
  }
});

t.test(
  "a port that requires client certificates serves clients that have one, and the command line explains it",
  async (t) => {
    const wants = { PORTICO_DATA: join(folder, "mutual"), PORTICO_HTTP_TLS_CLIENT_CA: join(folder, "ca.pem") };
    const mutual = await start(["server"], { ...files, ...wants });
    t.teardown(() => mutual.stop());
    const url = mutual.address("HTTP");
    const session = connect(url, { ca, ...authority.issue("client") });
    t.teardown(() => session.destroy());
    t.match(await text(session.request({ ":path": "/helloworld/call?name=Ada" })), /Hello Ada/);
    await t.rejects(
      portico(["services"], { PORTICO_URL: url }),
      /127\.0\.0\.1:\d+ wants a certificate of its clients \(PORTICO_HTTP_TLS_CLIENT_CA\)/,
    );
  },
);

t.test("a start with a wrong certificate is refused, with the reason", async (t) => {
  for (const [env, message] of [
    [
      { PORTICO_HTTP_TLS_CERT: files.PORTICO_HTTP_TLS_CERT },
      /PORTICO_HTTP_TLS_CERT is set without PORTICO_HTTP_TLS_KEY/,
    ],
    [{ ...files, PORTICO_HTTP_TLS_KEY: join(folder, "ca.pem") }, /ca\.pem \(PORTICO_HTTP_TLS_KEY\) is no key for/],
    [{ ...files, PORTICO_HTTP_TLS_CERT: join(folder, "none.pem") }, /PORTICO_HTTP_TLS_CERT cannot be read: ENOENT/],
    [
      { PORTICO_HTTP_TLS_CLIENT_CA: join(folder, "ca.pem") },
      /PORTICO_HTTP_TLS_CLIENT_CA is set without PORTICO_HTTP_TLS_CERT: clients show/,
    ],
  ] as const) {
    const ports = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
    const { code, output } = await refused(["server"], { PORTICO_DATA: join(folder, "other"), ...ports, ...env });
    t.not(code, 0);
    t.match(output, message);
  }
});
