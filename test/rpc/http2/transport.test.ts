// Calls over TLS, mutual TLS and Unix sockets.

import { Socket } from "node:net";
import { mock } from "node:test";
import { createServer } from "node:tls";
import { Client, credentials } from "@grpc/grpc-js";
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { unary } from "../../../src/rpc/client.js";
import type { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { createAuthority } from "../../http2/certificates.js";
import { channelTo, listenHttp2 } from "../../http2/serve.js";
import { socketPath } from "../../support/temporary.js";
import { RawService, rawService } from "../raw-service.js";
import { dispatcherOf } from "../serve.js";

const authority = createAuthority("authority");
const stranger = createAuthority("stranger");
const server = authority.issue("localhost");
const client = authority.issue("client");

const echo = rawService({ one: (request) => request });

const ask = async (channel: Http2Channel): Promise<string> =>
  `${await unary(channel, RawService.one, Buffer.from("a"))}`;

const refused = (t: Test, channel: Http2Channel) =>
  t.rejects(ask(channel), { code: Code.UNAVAILABLE, message: "the service cannot be reached" });

t.test("calls go over a Unix socket", async (t) => {
  const path = socketPath(t);
  const { address } = await listenHttp2(t, dispatcherOf([echo]), { address: { path } });
  t.same(address, { host: path, port: 0 });
  t.equal(await ask(channelTo(t, { path })), "a");
});

t.test("calls go over TLS", async (t) => {
  const { address } = await listenHttp2(t, dispatcherOf([echo]), { tls: server });
  t.equal(await ask(channelTo(t, address, { tls: { ca: authority.cert } })), "a");
  t.equal(await ask(channelTo(t, address, { tls: { ca: authority.cert, servername: "localhost" } })), "a");
  await refused(t, channelTo(t, address, { tls: { ca: stranger.cert } }));
  await refused(t, channelTo(t, address, { tls: { ca: authority.cert, servername: "elsewhere" } }));
  await refused(t, channelTo(t, address));
});

for (const [how, certificates, options] of [
  ["plain", {}, {}],
  ["TLS", { tls: server }, { tls: { ca: authority.cert } }],
] as const) {
  t.test(`small frames are sent without delay (RFC 9293, section 3.7.4): ${how}`, async (t) => {
    const { address } = await listenHttp2(t, dispatcherOf([echo]), certificates);
    const setNoDelay = mock.method(Socket.prototype, "setNoDelay");
    t.teardown(() => setNoDelay.mock.restore());
    await ask(channelTo(t, address, options));
    const ours = setNoDelay.mock.calls.filter(({ this: socket }) => (socket as Socket).remotePort === address.port);
    t.same(
      ours.map(({ arguments: [on] }) => on),
      [true],
    );
  });
}

t.test("calls go over mutual TLS", async (t) => {
  const { address } = await listenHttp2(t, dispatcherOf([echo]), { tls: { ...server, ca: authority.cert } });
  t.equal(await ask(channelTo(t, address, { tls: { ca: authority.cert, ...client } })), "a");
  for (const own of [{}, stranger.issue("client")]) {
    await t.rejects(ask(channelTo(t, address, { tls: { ca: authority.cert, ...own } })), { code: Code.UNAVAILABLE });
  }
});

t.test("a grpc-js client is served over TLS", async (t) => {
  const { address } = await listenHttp2(t, dispatcherOf([echo]), { tls: { ...server, ca: authority.cert } });
  const secure = credentials.createSsl(authority.cert, client.key, client.cert);
  const grpcJs = new Client(`127.0.0.1:${address.port}`, secure);
  t.teardown(() => grpcJs.close());
  const { path, requestSerialize, responseDeserialize } = RawService.one;
  const answer = await new Promise((resolve, reject) =>
    grpcJs.makeUnaryRequest(path, requestSerialize, responseDeserialize, Buffer.from("a"), (error, response) =>
      error === null ? resolve(response) : reject(error),
    ),
  );
  t.equal(`${answer}`, "a");
});

t.test("a server that speaks TLS but not HTTP/2 cannot be reached", async (t) => {
  const listener = createServer({ ...server }).listen(0, "127.0.0.1");
  t.teardown(() => listener.close());
  await new Promise((resolve) => listener.once("listening", resolve));
  const { port } = listener.address() as { port: number };
  await refused(t, channelTo(t, { host: "127.0.0.1", port }, { tls: { ca: authority.cert } }));
});
