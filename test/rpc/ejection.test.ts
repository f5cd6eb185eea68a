// An instance that fails much more often than the others is ejected, and comes back later. At least
// half of the instances stay.
import t, { type Test } from "tap";
import { Code, StatusError } from "../../src/errors.js";
import { Balancer } from "../../src/rpc/balancer.js";
import type { Channel } from "../../src/rpc/channel.js";
import { unary } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { MAX_BODY } from "../contract/channel.js";
import { setWallClock } from "../support/clock.js";
import { type RawImplementation, RawService, rawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";

const instance = (one: RawImplementation["one"]): Channel => new InProcessChannel(dispatcherOf([rawService({ one })]));

const HOUR = 3_600_000;

function balance(t: Test, ...responses: RawImplementation["one"][]): Balancer {
  const balancer = new Balancer("raw");
  balancer.update(new Map(responses.map((one, index) => [`${index}`, instance(one)])));
  t.teardown(() => balancer.close());
  return balancer;
}

const failing = (code: Code) => (): never => {
  throw new StatusError(code, "no");
};
const responding = (name: string) => (): Buffer => Buffer.from(name);

/**
 * The results of calls, one after the other: the name of the instance, or the code of the error.
 */
async function calls(balancer: Balancer, count: number, repeatable = false): Promise<string[]> {
  const ends: string[] = [];
  for (let call = 0; call < count; call++) ends.push(await end(balancer, repeatable));
  return ends;
}

function end(balancer: Balancer, repeatable: boolean): Promise<string> {
  return new Promise((resolve) => {
    let response = "";
    const start = {
      path: RawService.one.path,
      metadata: [],
      deadlineMonotonicMs: performance.now() + 60_000,
      repeatable,
    };
    const call = balancer.open(start, {
      onMessage: (message) => {
        response = Buffer.from(message).toString();
      },
      onEnd: ({ code }) => resolve(code === Code.OK ? response : Code[code]),
    });
    call.send(Buffer.from("a"));
    call.end();
  });
}

for (const code of [Code.INTERNAL, Code.UNKNOWN, Code.DEADLINE_EXCEEDED, Code.DATA_LOSS]) {
  t.test(`one of two instances is ejected after three calls that end with ${Code[code]}`, async (t) => {
    const ends = await calls(balance(t, failing(code), responding("b")), 40);
    t.equal(ends.filter((end) => end === Code[code]).length, 3);
  });
}

for (const code of [Code.NOT_FOUND, Code.RESOURCE_EXHAUSTED, Code.CANCELLED, Code.UNIMPLEMENTED]) {
  t.test(`one of two instances is not ejected when its calls end with ${Code[code]}`, async (t) => {
    const ends = await calls(balance(t, failing(code), responding("b")), 40);
    t.equal(ends.filter((end) => end === Code[code]).length, 20);
  });
}

t.test(
  "one of two instances is not ejected for responses that are too large: callers may have asked for too much",
  async (t) => {
    const ends = await calls(
      balance(t, () => Buffer.alloc(MAX_BODY + 1), responding("b")),
      40,
    );
    t.equal(ends.filter((end) => end === "RESOURCE_EXHAUSTED").length, 20);
  },
);

t.test("an ejected instance stays ejected when the clock is set forward", async (t) => {
  const balancer = balance(t, failing(Code.INTERNAL), responding("b"));
  await calls(balancer, 40);
  setWallClock(t, 2 * HOUR);
  t.same(new Set(await calls(balancer, 40)), new Set(["b"]));
});

t.test("no instance is ejected when all fail equally often", async (t) => {
  const balancer = balance(t, failing(Code.INTERNAL), failing(Code.UNKNOWN));
  const ends = await calls(balancer, 40);
  t.equal(ends.filter((end) => end === "INTERNAL").length, 20);
});

t.test("of three instances at most one is ejected", async (t) => {
  const ends = await calls(balance(t, failing(Code.INTERNAL), failing(Code.UNKNOWN), responding("c")), 60);
  t.ok(ends.includes("c"));
  const last = ends.slice(-20);
  t.equal(new Set(last).size, 2, "one that fails, and the one that does not");
});

t.test("an ejected instance gets one call at a time until one succeeds, and then its usual share", async (t) => {
  let well = false;
  let running = 0;
  let most = 0;
  const sick = async (): Promise<Buffer> => {
    running++;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running--;
    if (!well) throw new StatusError(Code.INTERNAL, "no");
    return Buffer.from("a");
  };
  const balancer = balance(t, sick, responding("b"));
  await calls(balancer, 20);
  well = true;
  most = 0;
  // Setting the clock back must not extend the ejection either.
  setWallClock(t, -2 * HOUR);
  const until = performance.now() + 10_000;
  const round = (): Promise<string[]> =>
    Promise.all(Array.from({ length: 8 }, async () => `${await unary(balancer, RawService.one, Buffer.from("a"))}`));
  let ends: string[] = [];
  while (!ends.includes("a") && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    ends = await round();
  }
  t.equal(ends.filter((end) => end === "a").length, 1, "of eight at once");
  t.equal(most, 1);
  ends = await round();
  t.equal(ends.filter((end) => end === "a").length, 4);
});

t.test("retries of calls that an instance may have seen are at most one in five calls", async (t) => {
  const balancer = balance(t, failing(Code.UNAVAILABLE), failing(Code.UNAVAILABLE));
  let tries = 0;
  const counting = (): never => {
    tries++;
    throw new StatusError(Code.UNAVAILABLE, "no");
  };
  balancer.update(new Map([1, 2].map((index) => [`${index}`, instance(counting)])));
  await calls(balancer, 200, true);
  // The result may differ by one, because 0.2 is not exact in binary.
  t.ok(Math.abs(tries - (200 + 10 + 200 / 5)) <= 1, `${tries} tries`);
});

t.test("an ejection is counted, and the instance's state says it", async (t) => {
  const balancer = balance(t, failing(Code.INTERNAL), responding("b"));
  t.same([...balancer.states], [["ready", 2]]);
  t.equal(balancer.ejections, 0);
  await calls(balancer, 40);
  t.same(Object.fromEntries(balancer.states), { ready: 1, ejected: 1 });
  t.equal(balancer.ejections, 1);
});
