// Instances with more calls than they can respond to. The balancer does not treat them as failing,
// and does not retry the calls that they refuse.
import t, { type Test } from "tap";
import { toCallError, toFailure } from "../../gateway/http/errors.js";
import { Code, StatusError } from "../../src/errors.js";
import { Balancer } from "../../src/rpc/balancer.js";
import type { CallListener, CallStart, Channel, OutgoingCall, Status } from "../../src/rpc/channel.js";
import { unary } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { isOverload, overloaded, status } from "../../src/rpc/status.js";
import { replaceClock } from "../support/clock.js";
import { type RawImplementation, RawService, rawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";

function balance(t: Test, channels: readonly Channel[]): Balancer {
  const balancer = new Balancer("raw");
  balancer.update(new Map(channels.map((channel, index) => [`${index}`, channel])));
  t.teardown(() => balancer.close());
  return balancer;
}

const instance = (one: RawImplementation["one"]): Channel => new InProcessChannel(dispatcherOf([rawService({ one })]));

function refusing(): never {
  const { code, message, details } = overloaded("raw");
  throw new StatusError(code, message, { details });
}

/** The results of calls, one after the other: responses or codes. */
async function calls(balancer: Balancer, count: number): Promise<string> {
  const ends: string[] = [];
  for (let call = 0; call < count; call++) {
    const response = unary(balancer, RawService.one, Buffer.from(""), { repeatable: true });
    ends.push(
      await response.then(
        (bytes) => bytes.toString(),
        (error) => Code[error.code] as string,
      ),
    );
  }
  return ends.join(" ");
}

t.test(
  "the balancer does not back off from an overloaded instance, and does not retry the calls that it refuses",
  async (t) => {
    const balancer = balance(t, [instance(refusing), instance(() => Buffer.from("b"))]);
    t.equal(await calls(balancer, 20), Array(10).fill("UNAVAILABLE b").join(" "));
  },
);

/** An instance whose calls end when the test calls `end`. */
class Manual implements Channel {
  readonly state = "ready";
  readonly listeners: CallListener[] = [];

  open(_start: CallStart, listener: CallListener): OutgoingCall {
    this.listeners.push(listener);
    return { send: () => true, end() {}, cancel() {}, pause() {}, resume() {} };
  }

  close(): void {}

  end(ending = status(Code.OK, "")): void {
    this.listeners.shift()?.onEnd(ending);
  }
}

/**
 * A balancer with a clock that the test moves. `call` makes a call, and `ended` lists the statuses.
 */
function onClock(t: Test, instances: readonly Channel[]) {
  let now = 1_000_000;
  replaceClock(t, performance, () => now);
  const balancer = balance(t, instances);
  const ended: Status[] = [];
  const call = (refusable = true): void => {
    const start = { path: RawService.one.path, metadata: [], deadlineMonotonicMs: now + 60_000, refusable };
    balancer.open(start, { onMessage() {}, onEnd: (ending) => ended.push(ending) });
  };
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { balancer, ended, call, pass };
}

/**
 * Makes twice as many calls as the instances respond to (each one every 4 ms), until some are
 * refused.
 */
async function flood({ balancer, call, pass }: ReturnType<typeof onClock>, answering: readonly Manual[]) {
  for (let turn = 0; turn < 2_000 && balancer.refused === 0; turn++) {
    pass(4);
    for (const instance of answering) {
      // The first calls get their response at once: this is the usual time.
      call();
      if (turn > 20) call();
      instance.end();
    }
  }
  await Promise.resolve();
}

t.test("calls that are too many for the only instance are refused, except calls that are not refusable", async (t) => {
  const only = new Manual();
  const it = onClock(t, [only]);
  await flood(it, [only]);
  t.ok(it.balancer.refused > 0);
  const refusal = it.ended.at(-1) as Status;
  t.match(refusal, {
    code: Code.UNAVAILABLE,
    message: "raw has more calls than it can process in time; try again later",
  });
  t.ok(isOverload(refusal));
  const open = only.listeners.length;
  it.call(false);
  t.equal(only.listeners.length, open + 1);
});

t.test("while one instance has too many calls, another one gets them", async (t) => {
  const [busy, other] = [new Manual(), new Manual()];
  const it = onClock(t, [busy]);
  await flood(it, [busy]);
  it.balancer.update(new Map([busy, other].map((channel, index) => [`${index}`, channel])));
  const { refused } = it.balancer;
  const open = busy.listeners.length;
  for (let count = 0; count < 100; count++) it.call();
  t.equal(other.listeners.length, 100);
  t.equal(busy.listeners.length, open);
  t.equal(it.balancer.refused, refused);
});

t.test("an instance that gets another contract starts without limits", async (t) => {
  const only = new Manual();
  const it = onClock(t, [only]);
  await flood(it, [only]);
  const { refused } = it.balancer;
  it.call();
  t.equal(it.balancer.refused, refused + 1);
  it.balancer.update(new Map([["0", only]]), () => "another");
  it.call();
  t.equal(it.balancer.refused, refused + 1);
});

t.test(
  "a call is refused for overload when one instance has too many calls and the other is unreachable",
  async (t) => {
    const [busy, dead] = [new Manual(), new Manual()];
    const it = onClock(t, [busy]);
    await flood(it, [busy]);
    it.balancer.update(new Map([busy, dead].map((channel, index) => [`${index}`, channel])));
    const { refused } = it.balancer;
    for (let count = 0; dead.listeners.length === 0 && count < 2; count++) it.call();
    dead.end(status(Code.UNAVAILABLE, "the connection was refused", { neverSent: true }));
    t.ok(isOverload(it.ended.at(-1) as Status));
    t.equal(it.balancer.refused, refused + 1);
  },
);

t.test("a client of a gateway gets Retry-After in an overload", async (t) => {
  const failure = toFailure(toCallError("raw", overloaded("raw")));
  t.match(failure, {
    status: 503,
    headers: ["Retry-After", "1"],
    message: /^raw has more calls than it can process in time/,
  });
});
