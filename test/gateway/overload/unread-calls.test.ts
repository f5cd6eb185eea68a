// A service with more calls than it takes: the next call on a connection waits before it is read, until a call has ended.
import t, { type Test } from "tap";
import { MAX_UNREAD_MS } from "../../../gateway/backlog.js";
import { Code } from "../../../src/errors.js";
import type { Call, CallListener, Channel } from "../../../src/rpc/channel.js";
import { status } from "../../../src/rpc/status.js";
import { until } from "../../support/until.js";
import { deploy } from "../deployment.js";
import { answersIn, dial, get } from "../node/dial.js";

const open: CallListener[] = [];
const channel = {
  state: "ready",
  isFull: false as boolean,
  open(_start, listener): Call {
    open.push(listener);
    return { send: () => true, end() {}, cancel() {}, pause() {}, resume() {} };
  },
  close() {},
} satisfies Channel;

function answerOne(): void {
  const listener = open.shift();
  listener?.onMessage(Buffer.alloc(0));
  listener?.onEnd(status(Code.OK, ""));
}

/** Calls must not begin because they have waited for long. */
function stopLate(t: Test): void {
  const { setTimeout } = globalThis;
  t.teardown(() => Object.assign(globalThis, { setTimeout }));
  const never = (callback: () => void, ms?: number) =>
    ms === MAX_UNREAD_MS ? setTimeout(callback, 3_600_000).unref() : setTimeout(callback, ms);
  Object.assign(globalThis, { setTimeout: never });
}

t.test("a call waits unread, and begins when one has ended", async (t) => {
  const { door, catalog, add, close } = await deploy(t.testdir(), { connect: () => channel });
  t.teardown(close);
  t.teardown(add({ service: "odd", addresses: ["127.0.0.1:9"] }));
  await until(() => catalog.routes.serviceAt("GET", "/odd/helloworld/call") === "odd");
  const first = await dial(door);
  const other = await dial(door);
  t.teardown(() => {
    first.socket.destroy();
    other.socket.destroy();
  });
  const call = get("/odd/helloworld/call?name=Ada");
  first.socket.write(call);
  await until(() => open.length === 1);
  answerOne();
  await first.until(/\r\n\r\n/);
  other.socket.write(call);
  await until(() => open.length === 1);
  stopLate(t);
  channel.isFull = true;
  first.socket.write(call);
  const third = await dial(door);
  third.socket.write(get("/probe/tell"));
  await third.until(/HTTP\/1.1 200/);
  third.socket.destroy();
  t.equal(open.length, 1, "it has not begun");
  channel.isFull = false;
  answerOne();
  await until(() => open.length === 1);
  answerOne();
  await until(async () => answersIn(await first.until(/$/)) === 2);
});
