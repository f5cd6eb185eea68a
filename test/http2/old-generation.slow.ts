// A call that has ended is freed by a collection of the young generation, even after a full
// collection. So no dead object in the old generation may refer to later objects. A Map of streams
// did that, and kept all later calls in memory until the next full collection.
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t, { type Test } from "tap";
import type { Channel } from "../../src/rpc/channel.js";
import { unary } from "../../src/rpc/client.js";
import { RawService, rawService } from "../rpc/raw-service.js";
import { dispatcherOf } from "../rpc/serve.js";
import { channelTo, listenHttp2 } from "./serve.js";

/** Concurrent calls: more than a connection allows, so that some wait. */
const CONCURRENT = 130;
const CALLS = 40_000;
/** Maximum bytes that a call may leave: 90 were measured, and 1,300 with a Map. */
const MAX_BYTES_LEFT = 400;
const MESSAGE = Buffer.from("hello");

setFlagsFromString("--expose-gc");
const collectAll = runInNewContext("gc") as () => void;
const service = rawService({ one: (request) => request });

async function call(channel: Channel, times: number): Promise<void> {
  let left = times;
  const caller = async (): Promise<void> => {
    while (left-- > 0)
      await unary(channel, RawService.one, MESSAGE, { deadlineMonotonicMs: performance.now() + 60_000 });
  };
  await Promise.all(Array.from({ length: CONCURRENT }, caller));
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === "old_space")!.space_used_size;
}

/** The bytes that each call leaves in the old generation. */
async function leftBy(channel: Channel): Promise<number> {
  await call(channel, CALLS);
  // A full collection runs twice while calls are open, so that everything that refers to them is in
  // the old generation.
  const running = call(channel, CALLS / 4);
  for (let turn = 0; turn < 2; turn++) {
    await call(channel, 500);
    collectAll();
  }
  await running;
  const before = oldBytes();
  await call(channel, CALLS);
  return (oldBytes() - before) / CALLS;
}

async function check(t: Test, channel: Channel): Promise<void> {
  const left = await leftBy(channel);
  t.ok(left < MAX_BYTES_LEFT, `${Math.round(left)} bytes a call`);
}

t.test("over HTTP/2", async (t) => {
  const server = await listenHttp2(t, dispatcherOf([service]));
  await check(t, channelTo(t, server.address));
});
