// When a client sends more than 10,000 frames in a second, it is not read again until the second is
// over.

import { mock } from "node:test";
import t from "tap";
import { deferred } from "../../support/deferred.js";
import { accepted } from "./accepted.js";

const MAX_FRAMES = 10_000;
const SENT = 12_000;

t.test("a client that sends too much must wait, and no message is lost", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let now = performance.now();
  mock.method(performance, "now", () => now);
  t.teardown(() => mock.reset());

  let received = 0;
  const pausedAt: number[] = [];
  const reached = new Map<number, () => void>();
  const until = (count: number) => new Promise<void>((resolve) => reached.set(count, resolve));
  const all = until(SENT);
  const allowed = until(MAX_FRAMES);
  const { client, socket } = await accepted(t, () => {
    received++;
    if (received <= MAX_FRAMES && socket.isPaused()) pausedAt.push(received);
    reached.get(received)?.();
  });
  for (let sent = 0; sent < SENT; sent++) client.send("{}");

  await allowed;
  t.same(pausedAt, [MAX_FRAMES]);
  mock.timers.tick(999);
  t.ok(socket.isPaused(), "for the whole second");
  now += 1000;
  mock.timers.tick(1);
  t.notOk(socket.isPaused());
  await all;
});

t.test("pings and pongs count as messages", async (t) => {
  const now = performance.now();
  mock.method(performance, "now", () => now);
  t.teardown(() => mock.reset());

  const pausedAt: boolean[] = [];
  const { promise: both, resolve: told } = deferred();
  const { client, socket } = await accepted(t, () => {
    pausedAt.push(socket.isPaused());
    if (pausedAt.length === 2) told();
  });
  // The package reads only a limited number of pings before it has sent the pongs, so most frames
  // here are pongs.
  for (let sent = 0; sent < 50; sent++) client.ping();
  for (let sent = 50; sent < MAX_FRAMES - 2; sent++) client.pong();
  client.send("{}");
  client.send("{}");
  await both;
  t.same(pausedAt, [false, true]);
});
