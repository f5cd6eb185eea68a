// A client that sends more than 10,000 messages in a second is not read again before the second is over.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { mock } from "node:test";
import t from "tap";
import { WebSocket } from "ws";
import { WebSockets } from "../../gateway/websocket.js";

const MOST = 10_000;
const SENT = 12_000;

t.test("a client that sends too much has to wait, and nothing is lost", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let now = performance.now();
  mock.method(performance, "now", () => now);
  t.teardown(() => mock.reset());

  const sockets = new WebSockets({ maxBody: 1024 });
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [req, socket, head] = (await once(server, "upgrade")) as [IncomingMessage, Socket, Buffer];
  t.teardown(() => {
    client.terminate();
    server.close();
  });

  let received = 0;
  const pausedAt: number[] = [];
  const reached = new Map<number, () => void>();
  const until = (count: number) => new Promise<void>((resolve) => reached.set(count, resolve));
  const all = until(SENT);
  const most = until(MOST);
  const session = {
    open() {},
    onMessage() {
      received++;
      if (received <= MOST && socket.isPaused()) pausedAt.push(received);
      reached.get(received)?.();
    },
    onDrain() {},
  };
  sockets.accept({ req, socket, head }, [], session, () => {});
  await once(client, "open");
  for (let sent = 0; sent < SENT; sent++) client.send("{}");

  await most;
  t.same(pausedAt, [MOST]);
  mock.timers.tick(999);
  t.ok(socket.isPaused(), "for the whole second");
  now += 1000;
  mock.timers.tick(1);
  t.notOk(socket.isPaused());
  await all;
});
