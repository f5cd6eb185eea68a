/**
 * Certificates are replaced while connections are open. These continue, and new connections use the
 * new files.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { pino } from "pino";
import t from "tap";
import { followCertificates } from "../../src/config/certificates.js";
import { unary } from "../../src/rpc/client.js";
import { GrpcChannel } from "../../src/rpc/grpc-js/channel.js";
import { serveGrpc } from "../../src/rpc/grpc-js/server.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import { createAuthority } from "../http2/certificates.js";
import { rawService } from "../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../rpc/serve.js";
import { until } from "../support/until.js";

const [before, after] = [createAuthority("before"), createAuthority("after")];
const [old, renewed] = [before.issue("localhost"), after.issue("localhost")];
const both = Buffer.concat([before.cert, after.cert]);

/** The transports, by the names of the setting PORTICO_TRANSPORT. */
const TRANSPORTS = {
  http2: { serve: serveHttp2, Channel: Http2Channel },
  "grpc-js": { serve: serveGrpc, Channel: GrpcChannel },
};

const ONE = {
  path: "/raw.Raw/One",
  requestStream: false,
  responseStream: false,
  requestSerialize: () => Buffer.alloc(0),
  requestDeserialize: (bytes: Buffer) => bytes,
  responseSerialize: (bytes: Buffer) => bytes,
  responseDeserialize: (bytes: Buffer) => bytes,
} as const;

for (const [name, { serve, Channel }] of Object.entries(TRANSPORTS)) {
  t.test(`with ${name}, open connections outlast replaced files, and new ones use the new files`, async (t) => {
    const folder = t.testdir({ "ca.pem": both, "own.pem": old.cert, "own.key": old.key });
    const file = (name: string): string => join(folder, name);
    const files = { tlsCa: file("ca.pem"), tlsCert: file("own.pem"), tlsKey: file("own.key") };
    const said: string[] = [];
    const log = pino({}, { write: (line) => void said.push(JSON.parse(line).msg) });
    const closing = new AbortController();
    t.teardown(() => closing.abort());
    const tls = followCertificates(files, { log, signal: closing.signal });
    const service = rawService({ one: () => Buffer.alloc(0) });
    const server = await serve(dispatcherOf([service]), { host: "127.0.0.1", port: 0 }, LIMITS, { tls });
    t.teardown(() => server.close(0));
    const { address } = server;
    const open = (own = tls) => {
      const channel = new Channel(address, { tls: own });
      t.teardown(() => channel.close());
      return channel;
    };
    const ask = (channel: InstanceType<typeof Channel>) => unary(channel, ONE, Buffer.alloc(0));
    /** The issuer of the certificate that the server sends on a new connection. */
    const issuer = () =>
      new Promise<string>((resolve, reject) => {
        const socket = connect({ ...address, ca: both, ...old, ALPNProtocols: ["h2"] }, () => {
          resolve(`${socket.getPeerCertificate().issuer.CN}`);
          socket.destroy();
        }).on("error", reject);
      });
    const standing = open();
    await ask(standing);
    t.equal(await issuer(), "before");

    writeFileSync(files.tlsKey, renewed.key);
    await until(() => said.includes("the changed certificates are not used"));
    t.equal(await issuer(), "before", "a key without its certificate changes nothing");
    await ask(open());

    writeFileSync(files.tlsCert, renewed.cert);
    await until(() => said.includes("the certificates were read again"));
    t.equal(await issuer(), "after");
    t.same(tls.cert, readFileSync(files.tlsCert));
    await ask(standing);
    await ask(open());

    said.length = 0;
    writeFileSync(files.tlsCa, after.cert);
    await until(() => said.includes("the certificates were read again"));
    await t.rejects(ask(open({ ca: both, ...old })), "the old authority is trusted no more");
    await ask(open());
    await ask(standing);
  });
}
