// A client that sends more than 10,000 messages in a second is not read again before the second is over.

import { mock } from "node:test";
import t from "tap";
import { deferred } from "../../support/deferred.js";
import { accepted } from "./accepted.js";

const MOST = 10_000;
const SENT = 12_000;

t.test("a client that sends too much has to wait, and nothing is lost", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let now = performance.now();
  mock.method(performance, "now", () => now);
  t.teardown(() => mock.reset());

  let received = 0;
  const pausedAt: number[] = [];
  const reached = new Map<number, () => void>();
  const until = (count: number) => new Promise<void>((resolve) => reached.set(count, resolve));
  const all = until(SENT);
  const most = until(MOST);
  const { client, socket } = await accepted(t, () => {
    received++;
    if (received <= MOST && socket.isPaused()) pausedAt.push(received);
    reached.get(received)?.();
  });
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
  // Of pings the package takes only so many before it has answered them.
  for (let sent = 0; sent < 50; sent++) client.ping();
  for (let sent = 50; sent < MOST - 2; sent++) client.pong();
  client.send("{}");
  client.send("{}");
  await both;
  t.same(pausedAt, [false, true]);
});
