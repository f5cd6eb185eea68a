// Calls with one request wait for their turn, or are refused, where a process has more than it can answer; on a loop that the test turns.
import { setImmediate } from "node:timers/promises";
import t, { type Test } from "tap";
import { Code } from "../../src/errors.js";
import { CallQueue, MAX_WAIT_MS } from "../../src/overload/call-queue.js";
import type { Channel, Status } from "../../src/rpc/channel.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { grpcServiceOf, type ServicePart } from "../../src/rpc/service.js";
import { isOverload } from "../../src/rpc/status.js";
import { channelTo, listenHttp2 } from "../http2/serve.js";
import { fillTurn, ManualLoop } from "../overload/manual-loop.js";
import { deferred } from "../support/deferred.js";
import { inTime, until } from "../support/until.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";
import { TableGuard } from "./table-guard.js";

const HEALTH = "/grpc.health.v1.Health/Check";

async function start(t: Test) {
  const loop = new ManualLoop();
  const callQueue = new CallQueue(loop);
  const guard = new TableGuard();
  const begun: string[] = [];
  const service = rawService({
    one(request) {
      begun.push(`${request}`);
      return request;
    },
    async upload(requests) {
      for await (const _request of requests);
      return Buffer.from("done");
    },
  });
  const dispatcher = dispatcherOf([service], { guard, callQueue });
  const channel = channelTo(t, (await listenHttp2(t, dispatcher)).address);
  let waiting = 0;
  const wait = callQueue.wait.bind(callQueue);
  callQueue.wait = (...call) => {
    waiting++;
    return wait(...call);
  };
  fillTurn(callQueue, loop);
  const turn = (): void => {
    loop.turn();
    loop.turn();
  };
  return { loop, callQueue, guard, begun, channel, turn, isWaiting: () => until(() => waiting === 1) };
}

/** How a call ends. */
function call(channel: Channel, message: string, path: string = RawService.one.path) {
  let onEnd = (_status: Status): void => {};
  const ended = new Promise<Status>((resolve) => {
    onEnd = resolve;
  });
  const opened = channel.open(
    { path, metadata: [], deadlineMonotonicMs: performance.now() + 60_000 },
    { onMessage() {}, onEnd },
  );
  opened.send(Buffer.from(message));
  opened.end();
  return { ended: inTime(ended, `the end of ${path}`), cancel: () => opened.cancel() };
}

t.test("a call is answered when its turn has come", async (t) => {
  const { channel, begun, turn, isWaiting } = await start(t);
  const { ended } = call(channel, "a");
  await isWaiting();
  t.same(begun, []);
  turn();
  t.equal((await ended).code, Code.OK);
  t.same(begun, ["a"]);
});

t.test("a call that has waited too long is refused, and says when to call again", async (t) => {
  const { channel, loop, callQueue, begun, turn, isWaiting } = await start(t);
  const { ended } = call(channel, "a");
  await isWaiting();
  loop.turn();
  loop.milliseconds += MAX_WAIT_MS + 1;
  turn();
  const status = await ended;
  t.match(status, {
    code: Code.UNAVAILABLE,
    message: "raw has more calls than it can answer in time; try again later",
  });
  t.ok(isOverload(status));
  t.same(begun, []);
  t.equal(callQueue.refused, 1);
});

t.test("a call whose rule is deleted while it waits does not begin", async (t) => {
  const { channel, guard, begun, turn, isWaiting } = await start(t);
  const { ended } = call(channel, "a");
  await isWaiting();
  guard.close("raw:Raw.One");
  turn();
  t.equal((await ended).code, Code.UNAUTHENTICATED);
  t.same(begun, []);
});

t.test("a call that is cancelled while it waits does not begin, and is not refused later", async (t) => {
  const { channel, loop, callQueue, begun, turn, isWaiting } = await start(t);
  const { ended, cancel } = call(channel, "a");
  await isWaiting();
  cancel();
  t.equal((await ended).code, Code.CANCELLED);
  // The service has read the cancellation when it answers what was sent after it.
  await call(channel, "", HEALTH).ended;
  loop.milliseconds += MAX_WAIT_MS + 1;
  turn();
  turn();
  t.same(begun, []);
  t.equal(callQueue.refused, 0);
});

t.test("calls that came before the code of their endpoint was loaded take turns once it is", async (t) => {
  const loop = new ManualLoop();
  const callQueue = new CallQueue(loop);
  const begun: string[] = [];
  const service = rawService({
    one(request) {
      begun.push(`${request}`);
      return request;
    },
  });
  const [part] = service.parts as [ServicePart];
  const code = deferred<ServicePart>();
  const lazy = { ...service, parts: [{ grpcService: grpcServiceOf(part), load: () => code.promise }] };
  const channel = new InProcessChannel(dispatcherOf([lazy], { callQueue }));
  const calls = ["a", "b"].map((message) => call(channel, message).ended);
  code.resolve(part);
  await setImmediate();
  t.same(begun, []);
  loop.turn();
  loop.turn();
  for (const { code } of await Promise.all(calls)) t.equal(code, Code.OK);
  t.same(begun, ["a", "b"]);
});

for (const [what, path] of [
  ["health", HEALTH],
  ["a stream of requests", RawService.upload.path],
] as const) {
  t.test(`${what} does not wait`, async (t) => {
    const { channel } = await start(t);
    t.equal((await call(channel, "", path).ended).code, Code.OK);
  });
}
