// A call that has ended is collected with the young objects, also after everything has been collected once: nothing that
// is itself forgotten refers to what came after it. A Map of streams did, and then all calls lived until the next time.
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t, { type Test } from "tap";
import type { Channel } from "../../src/rpc/channel.js";
import { unary } from "../../src/rpc/client.js";
import { RawService, rawService } from "../rpc/raw-service.js";
import { dispatcherOf } from "../rpc/serve.js";
import { channelTo, listenHttp2 } from "./serve.js";

/** Calls at a time: more than a connection takes, so that some wait. */
const AT_A_TIME = 130;
const CALLS = 40_000;
/** Bytes of a call: 90 were measured, and 1,300 with a Map. */
const MOST = 400;
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
  await Promise.all(Array.from({ length: AT_A_TIME }, caller));
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === "old_space")!.space_used_size;
}

/** What each call leaves among the old objects, in bytes. */
async function leftBy(channel: Channel): Promise<number> {
  await call(channel, CALLS);
  // Twice while calls are under way, so that whatever holds them is old.
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
  t.ok(left < MOST, `${Math.round(left)} bytes a call`);
}

t.test("over HTTP/2", async (t) => {
  const server = await listenHttp2(t, dispatcherOf([service]));
  await check(t, channelTo(t, server.address));
});
