// A stop loses no request. Before the port closes, the gateway still accepts calls, and announces
// in each response that the connection ends. After it has closed the port, it still responds to a
// request that was already under way on an idle connection.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { listen } from "../../../gateway/node/listen.js";
import { loadConfig } from "../../../src/config/config.js";

const REQUEST = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
const DRAIN_MS = 20_000;

async function open(t: Test) {
  const response = {
    status: 200,
    headers: ["Content-Type", "text/plain", "Content-Length", "2"],
    body: "ok",
    length: 2,
  };
  const gateway = await listen(() => response, { host: "127.0.0.1", port: 0 }, loadConfig({}, {}));
  t.teardown(() => gateway.close(0));
  const client = async (): Promise<Socket> => {
    const socket = connect(gateway.address).setEncoding("latin1");
    t.teardown(() => socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  return { gateway, client };
}

/** A connection that has had one response, and is idle. */
async function idle(socket: Socket): Promise<Socket> {
  socket.write(REQUEST);
  const [response] = await once(socket, "data");
  if (!/^HTTP\/1\.1 200 .*ok$/s.test(response)) throw new Error(response);
  return socket;
}

t.test("during the notice each call is the last one of its connection", async (t) => {
  const { gateway, client } = await open(t);
  const old = await idle(await client());
  gateway.leave();
  for (const socket of [old, await client()]) {
    socket.write(REQUEST);
    const response = await text(socket);
    t.match(response, /^HTTP\/1\.1 200 .*ok$/s);
    t.match(response, /\r\nConnection: close\r\n/i);
  }
});

t.test("a request that is sent while the port closes gets a response", async (t) => {
  const { gateway, client } = await open(t);
  const sockets = [await idle(await client()), await client()];
  const responses = sockets.map((socket) => text(socket));
  const closed = gateway.close(DRAIN_MS);
  for (const socket of sockets) socket.write(REQUEST);
  for (const response of responses) t.match(await response, /^HTTP\/1\.1 200 .*ok$/s);
  await closed;
});

t.test("idle connections do not delay the stop", async (t) => {
  const { gateway, client } = await open(t);
  const responses = [await idle(await client()), await client()].map((socket) => text(socket));
  const before = performance.now();
  await gateway.close(DRAIN_MS);
  t.ok(performance.now() - before < DRAIN_MS / 2);
  t.same(await Promise.all(responses), ["", ""]);
});
