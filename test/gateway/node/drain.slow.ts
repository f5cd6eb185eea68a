// A port closes soon after its drain time, whatever its clients do, and has then released all
// memory.
import t from "tap";
import type { BodySink } from "../../../gateway/http/body.js";
import type { GatewayResponse, RequestHandler } from "../../../gateway/http/message.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";
import { until } from "../../support/until.js";
import { type Client, dial, get, type HttpPort, open, post, response } from "./dial.js";

const DRAIN_MS = 100;
/** Many times the maximum time that may follow the drain time. */
const MAX_MS = 20_000;
/** More than systems buffer for a client. */
const LENGTH = 32 * 1024 ** 2;

const UPGRADE = [
  "GET /socket HTTP/1.1",
  "Host: x",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
].join("\r\n");

function stream(): GatewayResponse {
  const body = { open: (sink: BodySink) => void sink.write("begun"), onDrain() {} };
  return { status: 200, headers: [], body, length: 0 };
}

const session = { open() {}, onMessage() {}, onDrain() {} };

const handler: RequestHandler = async (request) => {
  const { target } = request;
  if (request.error !== undefined) return response("fault", request.error.status);
  if (target === "/never") return new Promise(() => {});
  if (target === "/large") return response("x".repeat(LENGTH));
  if (target === "/stream") return stream();
  if (target === "/socket") return { status: 101, headers: [], body: "", length: 0, session };
  if (target === "/pieces") request.chunks({ onChunk: () => false, onEnd() {}, onError() {} });
  if (target === "/pieces") return new Promise(() => {});
  try {
    await request.body();
  } catch {
    return response("refused", 400);
  }
  return response("hello");
};

/** The state of a client before the port closes. */
const STATES: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  "has sent nothing": async () => {},
  "has sent half of a head": async ({ socket }) => socket.write("GET / HT"),
  "has a response": ({ socket, until }) => {
    socket.write(get("/"));
    return until(/hello/);
  },
  "has a response, and has sent half of the next head": ({ socket, until }) => {
    socket.write(`${get("/")}GET /`);
    return until(/hello/);
  },
  "has sent half of a body": async ({ socket }) => socket.write(`${post(10)}hello`),
  "has sent half of a chunk": async ({ socket }) =>
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello"),
  "was asked for its body by 100 Continue": ({ socket, until }) => {
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    return until(/100 Continue/);
  },
  "sends a body that the service does not read": async ({ socket }) => {
    socket.write("POST /pieces HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
    socket.write(Buffer.alloc(500_000));
  },
  "waits for a response": async ({ socket }) => socket.write(get("/never")),
  "waits for many responses": async ({ socket }) => socket.write(get("/never").repeat(500)),
  "waits for a response, and has sent bytes that are no request": async ({ socket }) =>
    socket.write(`${get("/never")}garbage\r\n\r\n`),
  "waits for a response behind another": async ({ socket }) => socket.write(get("/never") + get("/")),
  "does not read its response": async ({ socket }) => {
    socket.pause();
    socket.write(get("/large"));
  },
  "does not read its response, and has sent the next request": async ({ socket }) => {
    socket.pause();
    socket.write(get("/large") + get("/large") + get("/never"));
  },
  "reads a stream": ({ socket, until }) => {
    socket.write(get("/stream"));
    return until(/begun/);
  },
  "reads a stream, and has sent the next request": ({ socket, until }) => {
    socket.write(get("/stream") + get("/"));
    return until(/begun/);
  },
  "has a WebSocket": ({ socket, until }) => {
    socket.write(`${UPGRADE}\r\n\r\n`);
    return until(/101 Switching/);
  },
  "was rejected": ({ socket, until }) => {
    socket.write("garbage\r\n\r\n");
    return until(/400 Bad Request/);
  },
  "continues to send a body that was rejected": ({ socket, until }) => {
    socket.write(`${post(1e9)}${"x".repeat(100_000)}`);
    return until(/400 Bad Request/);
  },
  "has reset the connection while it waited": async ({ socket }) => {
    socket.write(get("/never"));
    await new Promise(setImmediate);
    socket.resetAndDestroy();
  },
  "has closed its side while it waited": async ({ socket }) => void socket.end(get("/never") + get("/never")),
};

async function drained(port: HttpPort): Promise<number> {
  const started = performance.now();
  await port.close(DRAIN_MS);
  return performance.now() - started;
}

t.jobs = Object.keys(STATES).length;
for (const [title, act] of Object.entries(STATES)) {
  t.test(`a client that ${title}`, async (t) => {
    const budget = new MemoryBudget();
    const port = await open(t, handler, { budget });
    const client = await dial(port);
    t.teardown(() => client.socket.destroy());
    await act(client);
    const neighbour = await dial(port);
    neighbour.socket.write(get("/"));
    // Then the port has read everything that the client had sent before.
    await neighbour.until(/hello/);
    const took = await drained(port);
    t.ok(took < MAX_MS, `after ${took.toFixed(0)} ms`);
    await neighbour.rest();
    await until(() => budget.reserved === 0);
  });
}
