import t, { type Test } from "tap";
import { Code, StatusError } from "../../src/errors.js";
import { Balancer } from "../../src/rpc/balancer.js";
import type { Channel } from "../../src/rpc/channel.js";
import { stream, unary } from "../../src/rpc/client.js";
import { GrpcChannel } from "../../src/rpc/grpc-js/channel.js";
import { serveGrpc } from "../../src/rpc/grpc-js/server.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { deferred } from "../support/deferred.js";
import { freePort } from "../support/ports.js";
import { type RawImplementation, RawService, rawService } from "./raw-service.js";
import { dispatcherOf, LIMITS, listen } from "./serve.js";

const NEVER_SENT = { code: Code.UNAVAILABLE, message: "gone", details: [], trailers: [], neverSent: true };

/** An instance that responds with its own name. */
function instance(name: string, endpoints: Partial<RawImplementation> = {}): Channel {
  const dispatcher = dispatcherOf([rawService({ one: () => Buffer.from(name), ...endpoints })]);
  return new InProcessChannel(dispatcher);
}

function balance(t: Test, channels: Record<string, Channel>): Balancer {
  const balancer = new Balancer("raw");
  balancer.update(new Map(Object.entries(channels)));
  t.teardown(() => balancer.close());
  return balancer;
}

async function call(channel: Channel, options = {}): Promise<string> {
  return (await unary(channel, RawService.one, Buffer.from("who?"), options)).toString();
}

async function calls(channel: Channel, count: number): Promise<string> {
  let names = "";
  for (let i = 0; i < count; i++) names += await call(channel);
  return names;
}

t.test("calls go to the instances in turn (round robin)", async (t) => {
  const balancer = balance(t, { a: instance("a"), b: instance("b"), c: instance("c") });
  t.equal(await calls(balancer, 7), "abcabca");
});

t.test("without an instance, a call fails and names the service", async (t) => {
  const balancer = balance(t, {});
  t.equal(balancer.state, "broken");
  await t.rejects(call(balancer), { code: Code.UNAVAILABLE, message: "no instance of raw is reachable" });
});

t.test("a call goes to another instance when the first cannot be reached", async (t) => {
  const dead = new GrpcChannel({ host: "127.0.0.1", port: await freePort() });
  const live = new GrpcChannel((await listen(t, dispatcherOf([rawService({ one: () => Buffer.from("b") })]))).address);
  const balancer = balance(t, { dead, live });
  t.equal(await calls(balancer, 6), "bbbbbb");
});

t.test(
  "when no instance can be reached, the error names the service, and only its cause names an address",
  async (t) => {
    const dead = new GrpcChannel({ host: "127.0.0.1", port: await freePort() });
    const balancer = balance(t, { dead });
    const message = "no instance of raw is reachable";
    await t.rejects(call(balancer), { code: Code.UNAVAILABLE, message, cause: { message: /ECONNREFUSED/ } });
  },
);

t.test("an instance that was not reachable is called again when it is", async (t) => {
  const port = await freePort();
  const balancer = balance(t, { late: new GrpcChannel({ host: "127.0.0.1", port }) });
  await t.rejects(call(balancer), { code: Code.UNAVAILABLE });
  const dispatcher = dispatcherOf([rawService({ one: () => Buffer.from("late") })]);
  const server = await serveGrpc(dispatcher, { host: "127.0.0.1", port }, LIMITS);
  t.teardown(() => server.close(0));
  let response = "";
  while (response === "")
    response = await call(balancer).catch(() => new Promise((resolve) => setTimeout(resolve, 20, "")));
  t.equal(response, "late");
});

t.test("the balancer backs off for a while from an instance that was UNAVAILABLE", async (t) => {
  let broken = true;
  const sick = instance("a", {
    one() {
      if (broken) throw new StatusError(Code.UNAVAILABLE, "not now");
      return Buffer.from("a");
    },
  });
  const balancer = balance(t, { sick, well: instance("b") });
  await t.rejects(call(balancer), { code: Code.UNAVAILABLE, message: "not now" }, "it was sent: no second try");
  broken = false;
  t.equal(await calls(balancer, 4), "bbbb");
  let names = "";
  const end = Date.now() + 30_000;
  while (!names.includes("a") && Date.now() < end) names += await call(balancer);
  t.match(names, /a$/, "and comes back by itself");
});

t.test("instances are tried even when the balancer has backed off from all of them", async (t) => {
  const sick = () =>
    instance("", {
      one() {
        throw new StatusError(Code.UNAVAILABLE, "not now");
      },
    });
  const balancer = balance(t, { a: sick(), b: sick() });
  for (let i = 0; i < 4; i++) await t.rejects(call(balancer), { message: "not now" });
});

for (const [repeatable, outcome] of [
  [false, "lost"],
  [true, "b"],
] as const) {
  t.test(`a call that was sent is ${repeatable ? "" : "not "}sent again: repeatable is ${repeatable}`, async (t) => {
    const sick = instance("a", {
      one() {
        throw new StatusError(Code.UNAVAILABLE, "lost");
      },
    });
    const balancer = balance(t, { sick, well: instance("b") });
    const heard: string[] = [];
    await new Promise<void>((resolve) => {
      const sent = balancer.open(
        { path: RawService.one.path, metadata: [], repeatable },
        {
          onMessage: (message) => heard.push(`${message}`),
          onEnd({ message }) {
            if (message !== "") heard.push(message);
            resolve();
          },
        },
      );
      sent.send(Buffer.from("who?"));
      sent.end();
    });
    t.same(heard, [outcome]);
  });
}

t.test("an instance that was removed gets no new calls, and finishes its open ones", async (t) => {
  let response: (value: Buffer) => void = () => {};
  const { promise: reached, resolve: begun } = deferred();
  const leaving = instance("a", {
    one: () =>
      new Promise((resolve) => {
        response = resolve;
        begun();
      }),
  });
  const balancer = balance(t, { leaving });
  const inFlight = call(balancer);
  await reached;
  balancer.update(new Map([["new", instance("b")]]));
  t.equal(await calls(balancer, 3), "bbb");
  t.equal(leaving.state, "ready", "its channel is open while a call is in flight");
  response(Buffer.from("a"));
  t.equal(await inFlight, "a");
  t.equal(leaving.state, "closed", "and closed afterwards");
});

t.test(
  "the channel of a removed instance without calls is closed at once; other channels are not affected",
  async (t) => {
    const [a, b] = [instance("a"), instance("b")];
    const balancer = balance(t, { a, b });
    balancer.update(new Map([["b", b]]));
    t.equal(a.state, "closed");
    t.equal(b.state, "ready");
    t.equal(await calls(balancer, 2), "bb");
  },
);

t.test("a stream whose instance cannot be reached begins at another one, with the message that was sent", async (t) => {
  const dead = new GrpcChannel({ host: "127.0.0.1", port: await freePort() });
  const live = instance("b", {
    async *chat(requests) {
      for await (const request of requests) yield request;
    },
  });
  const balancer = balance(t, { dead, live });
  for (let i = 0; i < 2; i++) {
    const { send, end, responses } = stream(balancer, RawService.chat);
    send(Buffer.from("first"));
    const heard: string[] = [];
    for await (const response of responses) {
      heard.push(`${response}`);
      if (heard.length === 1) send(Buffer.from("second"));
      else end();
    }
    t.same(heard, ["first", "second"]);
  }
});

t.test("a caller that waits for an instance can continue at the next one when the first fails", async (t) => {
  // No real channel asks the caller to wait and then reports that the call was never sent. This one
  // does.
  const gone: Channel = {
    state: "ready",
    open(_start, listener) {
      const send = () => {
        queueMicrotask(() => listener.onEnd(NEVER_SENT));
        return false;
      };
      return { send, end() {}, cancel() {}, pause() {}, resume() {} };
    },
    close() {},
  };
  const live = instance("b", {
    async *chat(requests) {
      for await (const request of requests) yield request;
    },
  });
  const { send, drained, end, responses } = stream(balance(t, { gone, live }), RawService.chat);
  t.equal(send(Buffer.from("first")), false);
  await drained();
  end();
  const heard: string[] = [];
  for await (const response of responses) heard.push(`${response}`);
  t.same(heard, ["first"]);
});

t.test("after close, every channel is closed and calls are refused", async (t) => {
  const a = instance("a");
  const balancer = balance(t, { a });
  balancer.close();
  t.equal(a.state, "closed");
  t.equal(balancer.state, "closed");
  await t.rejects(call(balancer), { code: Code.UNAVAILABLE });
  const late = instance("b");
  balancer.update(new Map([["b", late]]));
  t.equal(late.state, "closed", "a channel that comes later is closed too");
});
