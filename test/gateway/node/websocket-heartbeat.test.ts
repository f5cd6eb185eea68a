// By default a WebSocket client is pinged every 15 s, and its connection is closed when nothing has
// come since the last ping.
import { once } from "node:events";
import { mock } from "node:test";
import t from "tap";
import { accepted } from "./accepted.js";

const HEARTBEAT_MS = 15_000;

t.test("a silent WebSocket is pinged; pongs and messages count as a response", async (t) => {
  mock.timers.enable({ apis: ["setInterval"] });
  t.teardown(() => mock.timers.reset());
  const { client, socket, gone } = await accepted(t, () => {}, { autoPong: false });

  let pings = 0;
  client.on("ping", () => pings++);

  const before = socket.bytesWritten;
  mock.timers.tick(HEARTBEAT_MS - 1);
  t.equal(socket.bytesWritten, before, "not yet");
  mock.timers.tick(1);
  client.ping();
  await once(client, "pong");
  t.equal(pings, 1);
  mock.timers.tick(HEARTBEAT_MS);
  t.same(gone, [], "a ping of its own is a sign of life");

  mock.timers.tick(HEARTBEAT_MS);
  // Data that may have arrived is read first.
  await new Promise(setImmediate);
  t.match(gone, [{ status: 499, message: "The client did not respond to a ping" }]);
  t.ok(socket.destroyed);
});
