// A stop loses no request: while the door leaves it takes calls and says that connections end, and after it has closed
// its port, a request that was already under way on an idle connection is answered.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { listen } from "../../../gateway/node/listen.js";
import { loadConfig } from "../../../src/config/config.js";

const REQUEST = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
const DRAIN_MS = 20_000;

async function open(t: Test) {
  const answer = { status: 200, headers: ["Content-Type", "text/plain", "Content-Length", "2"], body: "ok", length: 2 };
  const door = await listen(() => answer, { host: "127.0.0.1", port: 0 }, loadConfig({}, {}));
  t.teardown(() => door.close(0));
  const client = async (): Promise<Socket> => {
    const socket = connect(door.address).setEncoding("latin1");
    t.teardown(() => socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  return { door, client };
}

/** A connection that has had one answer, and is idle. */
async function idle(socket: Socket): Promise<Socket> {
  socket.write(REQUEST);
  const [answer] = await once(socket, "data");
  if (!/^HTTP\/1\.1 200 .*ok$/s.test(answer)) throw new Error(answer);
  return socket;
}

t.test("during the notice each call is the last one of its connection", async (t) => {
  const { door, client } = await open(t);
  const old = await idle(await client());
  door.leave();
  for (const socket of [old, await client()]) {
    socket.write(REQUEST);
    const answer = await text(socket);
    t.match(answer, /^HTTP\/1\.1 200 .*ok$/s);
    t.match(answer, /\r\nConnection: close\r\n/i);
  }
});

t.test("a request that is sent as the port closes is answered", async (t) => {
  const { door, client } = await open(t);
  const sockets = [await idle(await client()), await client()];
  const answers = sockets.map((socket) => text(socket));
  const closed = door.close(DRAIN_MS);
  for (const socket of sockets) socket.write(REQUEST);
  for (const answer of answers) t.match(await answer, /^HTTP\/1\.1 200 .*ok$/s);
  await closed;
});

t.test("connections that stay idle do not delay the end", async (t) => {
  const { door, client } = await open(t);
  const answers = [await idle(await client()), await client()].map((socket) => text(socket));
  const before = performance.now();
  await door.close(DRAIN_MS);
  t.ok(performance.now() - before < DRAIN_MS / 2);
  t.same(await Promise.all(answers), ["", ""]);
});
