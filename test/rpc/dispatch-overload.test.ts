// When a process has more calls than it can respond to, calls with one request wait for their turn
// or are refused. The test itself drives the event loop's turns (ManualLoop).
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

/** Makes a call. `ended` resolves with its status. */
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

t.test("a call gets its response when its turn has come", async (t) => {
  const { channel, begun, turn, isWaiting } = await start(t);
  const { ended } = call(channel, "a");
  await isWaiting();
  t.same(begun, []);
  turn();
  t.equal((await ended).code, Code.OK);
  t.same(begun, ["a"]);
});

t.test("a call that has waited too long is refused, with the time of a retry", async (t) => {
  const { channel, loop, callQueue, begun, turn, isWaiting } = await start(t);
  const { ended } = call(channel, "a");
  await isWaiting();
  loop.turn();
  loop.milliseconds += MAX_WAIT_MS + 1;
  turn();
  const status = await ended;
  t.match(status, {
    code: Code.UNAVAILABLE,
    message: "raw has more calls than it can process in time; try again later",
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
  // When the service responds to this later call, it has already read the cancellation.
  await call(channel, "", HEALTH).ended;
  loop.milliseconds += MAX_WAIT_MS + 1;
  turn();
  turn();
  t.same(begun, []);
  t.equal(callQueue.refused, 0);
});

t.test("calls that arrived before their endpoint's code was loaded take turns afterwards", async (t) => {
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
  ["a health check", HEALTH],
  ["a stream of requests", RawService.upload.path],
] as const) {
  t.test(`${what} does not wait`, async (t) => {
    const { channel } = await start(t);
    t.equal((await call(channel, "", path).ended).code, Code.OK);
  });
}
