// All connections are read into the same memory. Bytes of one connection are not changed by bytes
// that arrive on another.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import t from "tap";
import type { RequestHandler, SocketSession } from "../../../gateway/http/message.js";
import { shareReads } from "../../../gateway/node/shared-reads.js";
import { deferred } from "../../support/deferred.js";
import { dial, echo, get, open, post, response } from "./dial.js";

const SOME = "x".repeat(40_000);

t.test("this version of Node reads into the given buffer", async (t) => {
  const server = createServer((socket) => shareReads(socket)).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const memories = new Set<ArrayBufferLike>();
  for (const text of ["one", "two"]) {
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const [accepted] = (await once(server, "connection")) as [Socket];
    client.end(text);
    const [bytes] = (await once(accepted, "data")) as [Buffer];
    t.equal(bytes.toString(), text);
    memories.add(bytes.buffer);
    accepted.destroy();
  }
  t.equal(memories.size, 1);
});

t.test("a body that comes in chunks", async (t) => {
  const gateway = await open(t, bodyBack);
  for (const length of [10, 70_000]) {
    const client = await dial(gateway);
    client.socket.write(`${post(length)}${"a".repeat(length / 2)}`);
    await another(gateway);
    client.socket.write("b".repeat(length / 2));
    const text = await client.until(/;$/);
    t.ok(text.endsWith(`\n${"a".repeat(length / 2)}${"b".repeat(length / 2)};`), `${length} bytes`);
  }
});

t.test("a body that is read late", async (t) => {
  const { promise: late, resolve: read } = deferred();
  const { promise: asked, resolve: told } = deferred();
  const gateway = await open(t, async (request) => {
    if (request.target !== "/late") return echo(request);
    told();
    await late;
    return bodyBack(request);
  });
  const client = await dial(gateway);
  client.socket.write(`POST /late HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`);
  await asked;
  await another(gateway);
  read();
  t.match(await client.until(/;$/), /\nabc;$/);
});

t.test("requests that wait for the responses before them", async (t) => {
  const { promise: late, resolve: finish } = deferred();
  const gateway = await open(t, async (request) => {
    if (request.target === "/other") return echo(request);
    await late;
    return response(`${request.target};`);
  });
  const client = await dial(gateway);
  const targets = Array.from({ length: 100 }, (_, at) => `/late${at};`);
  client.socket.write(targets.map((target) => get(target.slice(0, -1))).join(""));
  await another(gateway);
  finish();
  t.same((await client.until(/\/late99;$/)).match(/\/late\d+;/g), targets);
});

t.test("a WebSocket frame that comes in chunks", async (t) => {
  const { promise: message, resolve: told } = deferred<string>();
  const session: SocketSession = {
    open() {},
    onMessage: (text) => told(Buffer.from(text ?? []).toString()),
    onDrain() {},
  };
  const gateway = await open(t, async (request) =>
    request.upgrade ? { ...response(""), status: 101, headers: [], session } : echo(request),
  );
  const client = await dial(gateway);
  const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
  client.socket.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n`);
  await client.until(/101 Switching/);
  // The final frame of a text message of six bytes, masked with zeros (RFC 6455 §5.2).
  client.socket.write(Buffer.concat([Buffer.from([0x81, 0x86, 0, 0, 0, 0]), Buffer.from("abc")]));
  await another(gateway);
  client.socket.write("def");
  t.equal(await message, "abcdef");
});

const bodyBack: RequestHandler = async (request) =>
  request.target === "/other" ? echo(request) : response(`${Buffer.concat(await request.body())};`);

/** A request on another connection, as long as the bytes that were read before it. */
async function another(gateway: Parameters<typeof dial>[0]): Promise<void> {
  const other = await dial(gateway);
  other.socket.write(`POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: ${SOME.length}\r\n\r\n${SOME}`);
  await other.until(/\/other 40000$/);
  other.socket.destroy();
}
