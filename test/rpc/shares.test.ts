// Weights and priorities of instances, and the maximum number of calls at the same time.
import t, { type Test } from "tap";
import { Code } from "../../src/errors.js";
import { Balancer } from "../../src/rpc/balancer.js";
import type { Channel, Status } from "../../src/rpc/channel.js";
import type { Share } from "../../src/rpc/shares.js";
import { isOverload } from "../../src/rpc/status.js";
import { RawService } from "./raw-service.js";

type State = Channel["state"];

/** An instance that counts its calls, and ends them when the test says so. */
class Counted implements Channel {
  state: State = "ready";
  calls = 0;
  /** Each ends a call that is open. */
  readonly ends: ((status: Status) => void)[] = [];

  constructor(readonly endsAtOnce = true) {}

  open(...[, listener]: Parameters<Channel["open"]>): ReturnType<Channel["open"]> {
    this.calls++;
    if (this.endsAtOnce) queueMicrotask(() => listener.onEnd(OK));
    else this.ends.push((status) => listener.onEnd(status));
    return { send: () => true, end() {}, cancel() {}, pause() {}, resume() {} };
  }

  close(): void {
    this.state = "closed";
  }
}

const OK: Status = { code: Code.OK, message: "", details: [], trailers: [] };

interface Member extends Partial<Share> {
  readonly channel: Counted;
  readonly contract?: string;
}

function balance(t: Test, members: readonly Member[]): Balancer {
  const balancer = new Balancer("shop");
  const of = (channel: Channel): Member => members.find((member) => member.channel === channel) as Member;
  const shareOf = (channel: Channel): Share => ({
    weight: of(channel).weight ?? 1,
    priority: of(channel).priority ?? 0,
  });
  balancer.update(
    new Map(members.map(({ channel }, index) => [`${index}`, channel])),
    (channel) => of(channel).contract,
    shareOf,
  );
  t.teardown(() => balancer.close());
  return balancer;
}

/** Opens a call. @returns how it ended, when it has */
function open(channel: Pick<Channel, "open">): Promise<Status> {
  return new Promise((resolve) => {
    channel.open({ path: RawService.one.path, metadata: [] }, { onMessage() {}, onEnd: resolve });
  });
}

t.test("a canary of 5 % gets 4 to 6 % of 10,000 calls, and no two in a row", async (t) => {
  const [canary, main] = [new Counted(), new Counted()];
  const balancer = balance(t, [
    { channel: canary, weight: 5 },
    { channel: main, weight: 95 },
  ]);
  const gaps = new Set<number>();
  for (let call = 0, before = -1, last = -1; call < 10_000; call++, before = canary.calls) {
    await open(balancer);
    if (canary.calls === before || before < 0) continue;
    if (last >= 0) gaps.add(call - last);
    last = call;
  }
  t.ok(canary.calls >= 400 && canary.calls <= 600, `${canary.calls} calls`);
  t.equal(canary.calls + main.calls, 10_000);
  t.same([...gaps], [20], "its calls are spread evenly");
});

t.test("three weights get their shares within each round", async (t) => {
  const channels = [new Counted(), new Counted(), new Counted()];
  const weights = [5, 1, 1];
  const balancer = balance(
    t,
    channels.map((channel, index) => ({ channel, weight: weights[index] as number })),
  );
  let order = "";
  for (let call = 0; call < 7; call++) {
    const before = channels.map(({ calls }) => calls);
    await open(balancer);
    order += "abc"[channels.findIndex(({ calls }, index) => calls > (before[index] as number))];
  }
  t.equal(order, "aabacaa", "the example of nginx");
});

for (const state of ["broken", "connecting"] as const) {
  t.test(`a canary that is ${state} gets no call, and no burst when it is back`, async (t) => {
    const [canary, main] = [new Counted(), new Counted()];
    const balancer = balance(t, [
      { channel: canary, weight: 5 },
      { channel: main, weight: 95 },
    ]);
    canary.state = state;
    for (let call = 0; call < 1_000; call++) await open(balancer);
    t.equal(canary.calls, 0);
    canary.state = "ready";
    for (let call = 0; call < 40; call++) await open(balancer);
    t.equal(canary.calls, 2);
  });
}

t.test("an instance that says it does not serve gets no calls, unless none serves", async (t) => {
  const [one, other] = [new Counted(), new Counted()];
  const balancer = balance(t, [{ channel: one }, { channel: other }]);
  balancer.setServing(one, false);
  for (let call = 0; call < 10; call++) await open(balancer);
  t.same([one.calls, other.calls], [0, 10]);
  balancer.setServing(other, false);
  for (let call = 0; call < 10; call++) t.equal((await open(balancer)).code, Code.OK);
  t.same([one.calls, other.calls], [5, 15], "calls still go to both");
  balancer.setServing(one, true);
  for (let call = 0; call < 10; call++) await open(balancer);
  t.same([one.calls, other.calls], [15, 15]);
});

t.test("instances of a later priority get calls only while none of an earlier one is fit", async (t) => {
  const [first, second, spare] = [new Counted(), new Counted(), new Counted()];
  const balancer = balance(t, [
    { channel: spare, priority: 20 },
    { channel: first, priority: 10 },
    { channel: second, priority: 10 },
  ]);
  for (let call = 0; call < 10; call++) await open(balancer);
  t.same([first.calls, second.calls, spare.calls], [5, 5, 0]);
  first.state = "broken";
  for (let call = 0; call < 10; call++) await open(balancer);
  t.same([first.calls, second.calls, spare.calls], [5, 15, 0]);
  second.state = "broken";
  for (let call = 0; call < 10; call++) await open(balancer);
  t.same([first.calls, second.calls, spare.calls], [5, 15, 10]);
});

t.test("weights count among instances that have different contracts", async (t) => {
  const [canary, main] = [new Counted(), new Counted()];
  const balancer = balance(t, [
    { channel: canary, weight: 5, contract: "new" },
    { channel: main, weight: 95, contract: "old" },
  ]);
  const byContract = { new: balancer.among("new"), old: balancer.among("old") };
  for (let call = 0; call < 10_000; call++) {
    await open(byContract[balancer.turn(["new", "old"]) as keyof typeof byContract]);
  }
  t.ok(canary.calls >= 400 && canary.calls <= 600, `${canary.calls} calls`);
  for (let call = 0; call < 1_000; call++) await open(byContract.old);
  const before = canary.calls;
  for (let call = 0; call < 40; call++) {
    await open(byContract[balancer.turn(["new", "old"]) as keyof typeof byContract]);
  }
  t.ok(canary.calls - before <= 4, "no burst after calls that only the other could take");
});

t.test("a service with its maximum of calls refuses more, streams included, until one has ended", async (t) => {
  const channel = new Counted(false);
  const balancer = balance(t, [{ channel }]);
  balancer.maxCalls = 2;
  const first = open(balancer);
  void open(balancer.among(undefined));
  const refused = await open(balancer);
  t.equal(channel.calls, 2);
  t.equal(refused.code, Code.UNAVAILABLE);
  t.match(refused.message, "shop has 2 calls, which is its maximum at the same time");
  t.ok(isOverload(refused), "it asks the caller to try again later");
  t.equal(balancer.refused, 1);
  channel.ends[0]?.(OK);
  t.equal((await first).code, Code.OK);
  void open(balancer);
  t.equal(channel.calls, 3);
  await open(balancer);
  t.equal(balancer.refused, 2);
});

t.test("a call that no instance can take does not count", async (t) => {
  const channel = new Counted();
  channel.state = "closed";
  const balancer = balance(t, [{ channel }]);
  balancer.maxCalls = 1;
  for (let call = 0; call < 3; call++) t.match((await open(balancer)).message, "no instance of shop is reachable");
  channel.state = "ready";
  for (let call = 0; call < 3; call++) t.equal((await open(balancer)).code, Code.OK);
});
