// Each transport with each kind of target: a client of one transport reaches a server of the other.

import dns from "node:dns";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mock } from "node:test";
import t, { type Test } from "tap";
import { type GrpcTarget, parseGrpcTarget } from "../../src/address/address.js";
import type { Certificates } from "../../src/config/certificates.js";
import { Code } from "../../src/errors.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import { unary } from "../../src/rpc/client.js";
import { loadTransport } from "../../src/rpc/load-transport.js";
import { createAuthority } from "../http2/certificates.js";
import { listenHttp2 } from "../http2/serve.js";
import { freePort } from "../support/ports.js";
import { socketPath } from "../support/temporary.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf, LIMITS } from "./serve.js";

const authority = createAuthority("authority");
const stranger = createAuthority("stranger");
const { cert: ca } = authority;
const own = authority.issue("localhost");
const foreign = stranger.issue("localhost");

const TRANSPORTS = ["http2", "grpc-js"] as const;
type Name = (typeof TRANSPORTS)[number];

async function serve(t: Test, name: Name, certificates: Certificates): Promise<GrpcTarget> {
  const transport = await loadTransport(name, LIMITS, certificates, new MemoryBudget());
  const dispatcher = dispatcherOf([rawService({ one: (request) => request })]);
  const server = await transport.serve(dispatcher, { host: "127.0.0.1", port: 0 });
  t.teardown(() => server.close(0));
  return server.address;
}

async function ask(t: Test, name: Name, target: GrpcTarget, certificates: Certificates): Promise<string> {
  const channel = (await loadTransport(name, LIMITS, certificates, new MemoryBudget())).connect(target);
  t.teardown(() => channel.close());
  return `${await unary(channel, RawService.one, Buffer.from("a"))}`;
}

const secure = (target: GrpcTarget): GrpcTarget => ({ ...(target as { host: string; port: number }), tls: true });

for (const server of TRANSPORTS) {
  for (const client of TRANSPORTS) {
    t.test(`${client} to ${server}`, async (t) => {
      const refused = (t: Test, target: GrpcTarget, certificates: Certificates) =>
        t.rejects(ask(t, client, target, certificates), { code: Code.UNAVAILABLE });

      t.test("connects without TLS to a server without a certificate of its own", async (t) => {
        const target = await serve(t, server, { ca });
        t.equal(await ask(t, client, target, { ca, ...own }), "a");
        await refused(t, secure(target), { ca });
      });

      t.test("connects with TLS to a server with a certificate", async (t) => {
        const target = await serve(t, server, own);
        t.equal(await ask(t, client, secure(target), { ca }), "a");
        await refused(t, target, { ca });
        await refused(t, secure(target), {});
        await refused(t, secure(target), { ca: stranger.cert });
      });

      t.test("connects with mutual TLS when both ends have certificates", async (t) => {
        const target = await serve(t, server, { ca, ...own });
        t.equal(await ask(t, client, secure(target), { ca, ...own }), "a");
        await refused(t, secure(target), { ca });
        await refused(t, secure(target), { ca, ...foreign });
      });
    });
  }
}

t.test("the cause names TLS when the server closes the connection without an error", async (t) => {
  const target = await serve(t, "http2", { ca, ...own });
  const cause = { message: /may want TLS, or not believe the certificate/ };
  await t.rejects(ask(t, "http2", target, {}), { cause });
  await t.rejects(ask(t, "http2", secure(target), { ca, ...foreign }), { cause });
});

t.test("the cause says that the server responds without HTTP/2 or without TLS, in one line", async (t) => {
  const server = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const target = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  const causeOf = (message: string) => ({ cause: { message } });
  const plain = "it responds, but not in HTTP/2: it is no gRPC server, or wants TLS";
  await t.rejects(ask(t, "http2", target, {}), causeOf(plain));
  await t.rejects(ask(t, "http2", secure(target), { ca }), causeOf("it responds without TLS"));
});

t.test("the cause names the error when a host name has two addresses", async (t) => {
  const target = { host: "greeter.internal", port: await freePort() };
  const both = [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ];
  const lookup = (_name: string, _options: object, callback: (error: null, found: object) => void) =>
    callback(null, both);
  const mocked = mock.method(dns, "lookup", lookup as unknown as typeof dns.lookup);
  t.teardown(() => mocked.mock.restore());
  await t.rejects(ask(t, "http2", target, {}), { code: Code.UNAVAILABLE, cause: { message: /^connect E/ } });
});

for (const client of TRANSPORTS) {
  t.test(`the cause names the error when no connection can be made: ${client}`, async (t) => {
    const secured = secure(await serve(t, "http2", own));
    const port = await freePort();
    for (const [target, cause] of [
      [secured, /certificate/],
      [{ host: "127.0.0.1", port }, /ECONNREFUSED 127\.0\.0\.1/],
      [{ host: "localhost", port }, /ECONNREFUSED/],
      [{ host: "does-not-exist.invalid", port }, /does-not-exist\.invalid/],
      [{ path: "/does/not/exist" }, /ENOENT/],
    ] as const) {
      const message = "the service cannot be reached";
      await t.rejects(ask(t, client, target, {}), { code: Code.UNAVAILABLE, message, cause: { message: cause } });
    }
  });

  t.test(`${client} to a Unix socket`, async (t) => {
    const path = socketPath(t);
    await listenHttp2(t, dispatcherOf([rawService({ one: (request) => request })]), { address: { path } });
    t.equal(await ask(t, client, parseGrpcTarget(`unix:${path}`), {}), "a");
  });
}
