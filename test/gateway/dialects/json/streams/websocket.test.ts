// WebSockets: one JSON message per text frame, in both directions, at the path of the endpoint.
import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { type Ask, createRule, dial, logLine, open, refused, scene } from "./client.js";

const it = await scene(t, { flags: { maxBody: "1KiB" } });
const tick = (number: number): string => `{"number":"${number}","padding":""}`;
const END = "";
await createRule(it, {
  ...{ id: "collect", scope: "<public>", access: "DENIED", resource: "service:feed:Feed.Collect", priority: 1 },
});
await createRule(it, {
  ...{ id: "admins", scope: "admin", access: "GRANTED", resource: "service:feed:Feed.Collect", priority: 2 },
});
const AUTHORIZED = { authorization: `Bearer ${it.admin}` };

t.test("two-way: responses arrive while more is sent; an empty frame ends the stream", async (t) => {
  const { socket, frames, count, closed } = await dial(it, "/feed/chat");
  for (const number of [1, 2, 3]) {
    socket.send(JSON.stringify({ number }));
    await count(number);
  }
  t.equal(it.feed.open, 1);
  socket.send(END);
  t.same(await closed, [1000, ""]);
  t.same(frames, [tick(1), tick(2), tick(3)]);
  t.match(await logLine(it, "feed:Feed.Chat"), { status: 200, messages: 3, received: 3, method: "GET" });
});

t.test("client stream: one response after the end", async (t) => {
  const { socket, frames, closed } = await dial(it, "/v1/feed/collect", [], AUTHORIZED);
  for (const number of [1, 2, 3]) socket.send(JSON.stringify({ number }));
  socket.send(END);
  t.same(await closed, [1000, ""]);
  t.same(frames, ['{"count":"3","total":"6"}']);
});

t.test("server stream: the first message is the request", async (t) => {
  const { socket, frames, closed } = await dial(it, "/feed/count");
  socket.send('{"messages":2}');
  t.same(await closed, [1000, ""]);
  t.same(frames, [tick(1), tick(2)]);
});

t.test("server stream: an end without a message is a request without fields, like a POST without a body", async (t) => {
  const { socket, closed } = await dial(it, "/feed/pieces");
  socket.send(END);
  t.same(await closed, [1000, ""]);
  t.match(await logLine(it, "feed:Feed.Pieces"), { status: 200, received: 0 });
});

t.test("an end after the last message has no effect", async (t) => {
  const { socket, frames, closed } = await dial(it, "/feed/count");
  socket.send('{"messages":2}');
  socket.send(END);
  t.same(await closed, [1000, ""]);
  t.same(frames, [tick(1), tick(2)]);
});

t.test("the 101 has the request's ID", async (t) => {
  const { WebSocket } = await import("ws");
  const headers = { "x-request-id": "mine" };
  const socket = new WebSocket(`ws://127.0.0.1:${it.port}/feed/chat`, { headers });
  const answered = await new Promise((resolve) => socket.once("upgrade", ({ headers }) => resolve(headers)));
  t.match(answered, { "x-request-id": "mine", "sec-websocket-extensions": undefined });
  socket.terminate();
  await it.feed.idle();
});

t.test("tokens of a WebSocket", async (t) => {
  const path = "/feed/collect";

  t.test("without a token, if the rules allow it", async (t) => {
    const { status, headers, error } = await refused(it, path);
    t.equal(status, 401);
    t.match(headers["www-authenticate"], /^Bearer resource_metadata="/);
    t.match(error, { Id: "feed", Code: 401, Detail: "Unauthorized call made to feed:Feed.Collect" });
  });

  t.test("without a token under /v1: 401", async (t) => t.equal((await refused(it, "/v1/feed/chat")).status, 401));

  t.test("in the header Authorization", async (t) => {
    const { socket } = await dial(it, path, [], AUTHORIZED);
    t.equal(socket.protocol, "");
    socket.terminate();
  });

  t.test("in a subprotocol, as browsers send it, which is not sent back", async (t) => {
    const { socket } = await dial(it, path, ["portico", `bearer.${it.admin}`]);
    t.equal(socket.protocol, "portico");
    socket.terminate();
  });

  t.test("in both: 400", async (t) => {
    const { status } = await refused(it, path, AUTHORIZED, ["portico", `bearer.${it.admin}`]);
    t.equal(status, 400);
  });

  t.test("never in the URL", async (t) => {
    const { status } = await refused(it, `${path}?access_token=${it.admin}&authorization=${it.admin}`);
    t.equal(status, 401);
  });

  t.test("never in a cookie", async (t) => {
    const { status } = await refused(it, path, { cookie: `token=${it.admin}; authorization=Bearer ${it.admin}` });
    t.equal(status, 401);
  });
});

const bad: [title: string, frame: string | Buffer, code: number, error: object][] = [
  ["text that is not JSON", "hello", 4400, { Code: 400, Detail: /./ }],
  ["a message that does not fit", '{"number":"x"}', 4400, { Code: 400, Detail: /^number: / }],
  ["an unknown field", '{"what":1}', 4400, { Code: 400, Detail: /what/ }],
  ["a binary frame", Buffer.from("{}"), 4415, { Code: 415, Status: "Unsupported Media Type" }],
];
for (const [title, frame, expected, error] of bad) {
  t.test(`${title}: the error is sent, the socket closes, and the call ends`, async (t) => {
    const { socket, frames, closed } = await dial(it, "/feed/chat");
    socket.send(frame);
    const [code, reason] = await closed;
    t.equal(code, expected);
    t.equal(frames.length, 1);
    const told = JSON.parse(String(frames[0]));
    t.match(told, { Id: "feed", ...error });
    t.equal(reason, told.Detail);
    await it.feed.idle();
  });
}

t.test("a message after the empty frame that ends the requests is refused", async (t) => {
  for (const [path, first] of [
    ["/feed/chat", END],
    ["/feed/count", '{"messages":1,"hang":true}'],
  ] as const) {
    const { socket, closed } = await dial(it, path);
    socket.send(first);
    socket.send("{}");
    t.same(await closed, [4400, "The last message has been sent already"], path);
  }
});

t.test("a message of the maximum size is accepted, and one byte more is not", async (t) => {
  const sized = (length: number): string => `{"padding":"${"x".repeat(length - 14)}"}`;
  const { socket, frames, count, closed } = await dial(it, "/feed/chat");
  socket.send(sized(1024));
  await count(1);
  t.match(JSON.parse(String(frames[0])), { padding: /^x{1010}$/ });
  it.logged.length = 0;
  socket.send(sized(1025));
  t.equal((await closed)[0], 1009);
  t.match(await logLine(it, "feed:Feed.Chat"), { status: 413 });
  await it.feed.idle();
});

t.test("a message in the maximum number of frames is accepted, and one frame more is not", async (t) => {
  const { socket, count, closed } = await dial(it, "/feed/chat");
  const sendIn = (frames: number): void => {
    socket.send('{"number":1}', { fin: false });
    for (let more = 2; more < frames; more++) socket.send("", { fin: false });
    socket.send("", { fin: true });
  };
  sendIn(16_384);
  await count(1);
  sendIn(16_385);
  t.match(await Promise.race([closed, count(2)]), [1008]);
  socket.terminate();
  await it.feed.idle();
});

t.test("a long reason is shortened, and the error object is complete", async (t) => {
  const { socket, frames, closed } = await dial(it, "/feed/chat");
  socket.send(`{"number":"${"ü".repeat(300)}"}`);
  const [, reason] = await closed;
  t.ok(Buffer.byteLength(reason) <= 123);
  t.ok(JSON.parse(String(frames[0])).Detail.startsWith(reason));
});

const KEY = "dGhlIHNhbXBsZSBub25jZQ==";
const HANDSHAKE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": KEY,
};
const offering = (...lists: string[]) => ({ headers: { "sec-websocket-protocol": lists } });
const handshakes: [title: string, path: string, ask: Ask, status: number, headers?: object][] = [
  ["a unary endpoint", "/helloworld/call", {}, 400],
  ["no endpoint", "/feed/nothing", {}, 404],
  ["another version", "/feed/chat", { headers: { "sec-websocket-version": "12" } }, 426],
  ["a bad key", "/feed/chat", { headers: { "sec-websocket-key": "short" } }, 400],
  ["an invalid path", "/feed/%zz", {}, 400],
  ["a body", "/feed/chat", { headers: { "content-type": "application/json", "content-length": "2" } }, 400],
  ["a query", "/feed/count?messages=1", {}, 400],
  ["another method", "/feed/chat", { method: "POST" }, 405, { allow: "GET, OPTIONS" }],
  ["a subprotocol twice", "/feed/chat", offering("portico, portico"), 400],
  ["a subprotocol twice, in two headers", "/feed/chat", offering("portico", "portico"), 400],
  ["subprotocols without a name", "/feed/chat", offering(",,"), 400],
  ["an empty list of subprotocols", "/feed/chat", offering(""), 400],
  ["one of two lists of subprotocols empty", "/feed/chat", offering("", "portico"), 400],
  ["a subprotocol that is no token", "/feed/chat", offering("a b"), 400],
  ["a subprotocol after a character that is not white space in HTTP", "/feed/chat", offering("portico,\xa0a"), 400],
];
for (const [title, path, ask, status, headers = {}] of handshakes) {
  t.test(`${title}: ${status} instead of 101`, async (t) => {
    it.logged.length = 0;
    const response = await open(it, path, { ...ask, headers: { ...HANDSHAKE, ...ask.headers } });
    t.equal(response.status, status);
    t.match(response.headers, { "x-request-id": /./, "content-type": "application/json", ...headers });
    t.equal(JSON.parse(await response.text()).Code, status);
    t.match(it.logged, [{ status }]);
  });
}

for (const [method, path] of [
  ["POST", "/feed/chat"],
  ["GET", "/feed/chat"],
  ["POST", "/v1/feed/collect"],
  ["GET", "/v1/feed/collect"],
] as const) {
  t.test(`plain ${method} ${path}: 426`, async (t) => {
    const { status, headers, text } = await open(it, path, { method, headers: AUTHORIZED });
    t.equal(status, 426);
    t.match(headers, { upgrade: "websocket", connection: /upgrade/i });
    t.match(JSON.parse(await text()), { Code: 426, Status: "Upgrade Required", Detail: /open a WebSocket/ });
  });
}

t.test("HEAD of an endpoint for WebSockets: 405 without a body", async (t) => {
  const socket = connect(it.port, "127.0.0.1");
  const lines = Object.entries(HANDSHAKE).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HEAD /feed/chat HTTP/1.1\r\nHost: x\r\n${lines.join("")}\r\n`);
  let response = "";
  for await (const chunk of socket) response += chunk;
  t.match(response, /^HTTP\/1.1 405 .*\r\nX-Request-Id: .*\r\nAllow: GET, OPTIONS\r\n.*\r\n\r\n$/s);
});

t.test("an upgrade to another protocol is ignored", async (t) => {
  const upgrade = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABk" };
  for (const ask of [{}, { body: { name: "Ada" } }]) {
    const { status, text } = await open(it, "/helloworld/call", { ...ask, headers: upgrade });
    t.equal(status, 200);
    t.match(JSON.parse(await text()), { message: /^Hello/ });
  }
});

t.test("an upgrade to a WebSocket, or else to another protocol", async (t) => {
  const socket = connect(it.port, "127.0.0.1");
  const opening = `Connection: Upgrade\r\nUpgrade: h2c, WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}`;
  socket.write(`GET /feed/chat HTTP/1.1\r\nHost: x\r\n${opening}\r\n\r\n`);
  const [response] = await once(socket, "data");
  t.match(String(response), /^HTTP\/1.1 101 /);
  socket.destroy();
  await it.feed.idle();
});

t.test("a connection on which each request asks for an upgrade does not collect listeners", async (t) => {
  const warned: Error[] = [];
  const warn = (warning: Error): void => void warned.push(warning);
  process.on("warning", warn);
  const socket = connect(it.port, "127.0.0.1");
  for (let asked = 0; asked < 15; asked++) {
    socket.write("GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    const [response] = await once(socket, "data");
    t.match(String(response), /^HTTP\/1.1 200 /);
  }
  socket.destroy();
  process.off("warning", warn);
  t.same(warned, []);
});
