// How a service counts the calls of its own port against limits of calls.
import t, { type Test } from "tap";
import { SYSTEM } from "../../src/call/admission.js";
import { Code, StatusError } from "../../src/errors.js";
import type { CallListener, Channel, Status } from "../../src/rpc/channel.js";
import type { Dispatcher } from "../../src/rpc/dispatch.js";
import { GrpcChannel } from "../../src/rpc/grpc-js/channel.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import type { CallEnd } from "../../src/rpc/served-method.js";
import { channelTo, listenHttp2 } from "../http2/serve.js";
import { until } from "../support/until.js";
import { type RawImplementation, RawService, rawService } from "./raw-service.js";
import { DETAIL, ScriptedLimits } from "./scripted-limits.js";
import { dispatcherOf, listen } from "./serve.js";
import { caller, TableGuard } from "./table-guard.js";

const TRANSPORTS: Record<string, (t: Test, dispatcher: Dispatcher) => Promise<Channel>> = {
  "in process": async (_t, dispatcher) => new InProcessChannel(dispatcher),
  "over HTTP/2": async (t, dispatcher) => channelTo(t, (await listenHttp2(t, dispatcher)).address),
  "over grpc-js": async (t, dispatcher) => {
    const channel = new GrpcChannel((await listen(t, dispatcher)).address);
    t.teardown(() => channel.close());
    return channel;
  },
};

const POLICY = { "ratelimit-policy": '"ci";q=100;w=1', ratelimit: '"ci";r=42;t=1' };
const TOKEN = "pta_1";

/** The messages that the two-way stream has read. */
const read: string[] = [];

const ENDPOINTS: Partial<RawImplementation> = {
  one(request, context) {
    if (`${request}` === "headers") context.sendHeaders([["own", "header"]]);
    if (`${request}` === "fail") throw new StatusError(Code.NOT_FOUND, "none");
    return request;
  },
  async *download(request) {
    yield request;
    yield request;
  },
  async upload(requests) {
    const got: string[] = [];
    for await (const request of requests) got.push(`${request}`);
    return Buffer.from(got.join());
  },
  async *chat(requests) {
    for await (const request of requests) {
      read.push(`${request}`);
      yield request;
    }
  },
};

/** A call, and what its caller has received. */
class Call implements CallListener {
  readonly messages: string[] = [];
  headers: Record<string, unknown> = {};
  status: Status | undefined;
  readonly #call: ReturnType<Channel["open"]>;

  constructor(channel: Channel, method: keyof typeof RawService, extra: object = {}) {
    const deadlineMonotonicMs = performance.now() + 60_000;
    const metadata = [["authorization", `Bearer ${TOKEN}`]] as const;
    this.#call = channel.open({ path: RawService[method].path, metadata, deadlineMonotonicMs, ...extra }, this);
  }

  send(...messages: string[]): this {
    for (const message of messages) this.#call.send(Buffer.from(message));
    return this;
  }

  async ended(): Promise<Status> {
    this.#call.end();
    return this.over();
  }

  async over(): Promise<Status> {
    await until(() => this.status !== undefined);
    return this.status as Status;
  }

  cancel(): void {
    this.#call.cancel();
  }

  onHeaders(metadata: Status["trailers"]): void {
    this.headers = Object.fromEntries(metadata);
  }

  onMessage(message: Uint8Array): void {
    this.messages.push(Buffer.from(message).toString());
  }

  onEnd(status: Status): void {
    this.status = status;
  }
}

/** Ended exactly once for each granted call. */
async function released(t: Test, limits: ScriptedLimits, calls: number): Promise<void> {
  await until(() => limits.open === 0);
  t.same(
    limits.ends,
    Array.from({ length: calls }, () => 1),
  );
}

function refusedAs(t: Test, { code, message, details, trailers }: Status): void {
  t.equal(code, Code.RESOURCE_EXHAUSTED);
  t.equal(message, DETAIL);
  t.match(
    details.map(({ typeUrl }) => typeUrl),
    [/google\.rpc\.QuotaFailure$/, /google\.rpc\.RetryInfo$/],
  );
  t.match(Object.fromEntries(trailers), { ...POLICY, "retry-after": "2" });
}

for (const [transport, connect] of Object.entries(TRANSPORTS)) {
  t.test(transport, async (t) => {
    const limits = new ScriptedLimits();
    const guard = new TableGuard();
    guard.callers.set(TOKEN, caller("ada"));
    guard.count = limits.count;
    const ends: CallEnd[] = [];
    const onEnd = (end: CallEnd): void => void ends.push(end);
    const channel = await connect(t, dispatcherOf([rawService(ENDPOINTS)], { guard, onEnd }));

    for (const act of ["grant", "grant later"] as const) {
      t.test(`a call counts once: ${act}`, async (t) => {
        limits.reset(act);
        const call = new Call(channel, "one").send("a");
        const ended = call.ended();
        if (act === "grant later") await limits.release();
        t.equal((await ended).code, Code.OK);
        t.same(call.messages, ["a"]);
        t.match(call.headers, POLICY);
        t.match(limits.counted, [{ name: "raw:Raw.One", asserted: false }]);
        t.equal(limits.counted.length, 1);
        await released(t, limits, 1);
      });
    }

    t.test("a call with an assertion", async (t) => {
      limits.reset("grant");
      const metadata = [["x-portico-context", "x"]];
      t.equal((await new Call(channel, "one", { metadata }).send("a").ended()).code, Code.OK);
      t.match(limits.counted, [{ asserted: true }]);
      await released(t, limits, 1);
    });

    for (const act of ["refuse", "refuse later"] as const) {
      t.test(`a call is refused: ${act}`, async (t) => {
        limits.reset(act);
        ends.length = 0;
        const call = new Call(channel, "one").send("a");
        const ended = call.ended();
        if (act === "refuse later") await limits.release();
        refusedAs(t, await ended);
        t.same(call.messages, []);
        t.match(ends, [{ code: Code.RESOURCE_EXHAUSTED, limit: "ci" }]);
        await released(t, limits, 0);
      });
    }

    t.test("headers come before the headers of the endpoint", async (t) => {
      limits.reset("grant");
      const call = new Call(channel, "one").send("headers");
      await call.ended();
      t.match(call.headers, { ...POLICY, own: "header" });
    });

    t.test("a call that fails", async (t) => {
      limits.reset("grant");
      const call = new Call(channel, "one").send("fail");
      t.equal((await call.ended()).code, Code.NOT_FOUND);
      t.match(call.headers, POLICY);
      await released(t, limits, 1);
    });

    t.test("a call without a state has no headers of limits", async (t) => {
      limits.reset("grant");
      limits.state = undefined;
      const call = new Call(channel, "one").send("a");
      t.equal((await call.ended()).code, Code.OK);
      t.notMatch(Object.keys(call.headers).join(), /ratelimit/);
    });

    t.test("a stream of responses counts once", async (t) => {
      limits.reset("grant", "refuse");
      const call = new Call(channel, "download").send("a");
      t.equal((await call.ended()).code, Code.OK);
      t.same(call.messages, ["a", "a"]);
      t.match(call.headers, POLICY);
      t.equal(limits.messages, 0);
      await released(t, limits, 1);
    });

    for (const act of ["grant", "grant later"] as const) {
      t.test(`a stream counts each message of the client: ${act}`, async (t) => {
        limits.reset(act, "grant", "grant later", "grant", "grant later");
        const call = new Call(channel, "upload").send("a", "b", "c", "d");
        const ended = call.ended();
        if (act === "grant later") await limits.release();
        await limits.release();
        await limits.release();
        t.equal((await ended).code, Code.OK);
        t.same(call.messages, ["a,b,c,d"]);
        t.equal(limits.messages, 4);
        t.equal(limits.counted.length, 1);
        await released(t, limits, 1);
      });
    }

    for (const act of ["refuse", "refuse later"] as const) {
      t.test(`a message ends the stream: ${act}`, async (t) => {
        limits.reset("grant", "grant", act);
        const call = new Call(channel, "chat").send("a");
        await until(() => call.messages.length === 1);
        call.send("b");
        if (act === "refuse later") await limits.release();
        refusedAs(t, await call.over());
        t.same(call.messages, ["a"]);
        await released(t, limits, 1);
      });
    }

    t.test("messages wait while one is counted, also when the guard lets messages pass again", async (t) => {
      limits.reset("grant", "grant", "grant later");
      const call = new Call(channel, "chat").send("a");
      await until(() => call.messages.length === 1);
      call.send("b", "c");
      const ended = call.ended();
      await until(() => limits.messages === 2);
      guard.resume();
      await new Promise(setImmediate);
      t.same(call.messages, ["a"]);
      await limits.release();
      t.equal((await ended).code, Code.OK);
      t.same(call.messages, ["a", "b", "c"]);
      t.equal(limits.messages, 3);
      await released(t, limits, 1);
    });

    t.test("a message that has been counted waits until the guard lets it pass", async (t) => {
      limits.reset("grant", "grant", "grant later");
      const call = new Call(channel, "chat").send("a");
      await until(() => call.messages.length === 1);
      guard.passing = false;
      call.send("b");
      await limits.release();
      for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
      t.same(call.messages, ["a"]);
      t.equal(read.at(-1), "a");
      guard.resume();
      await until(() => call.messages.length === 2);
      t.equal((await call.ended()).code, Code.OK);
      await released(t, limits, 1);
    });

    t.test("a call that is cancelled, and one that is cancelled while it is counted", async (t) => {
      limits.reset("grant");
      const open = new Call(channel, "chat").send("a");
      await until(() => open.messages.length === 1);
      open.cancel();
      await released(t, limits, 1);
      limits.reset("grant later");
      ends.length = 0;
      const early = new Call(channel, "one").send("a");
      await until(() => limits.counted.length === 1);
      early.cancel();
      await until(() => ends.length === 1);
      await limits.release();
      await until(() => limits.ends.length === 1);
      await released(t, limits, 1);
    });
  });
}

t.test("calls of this process do not count", async (t) => {
  const limits = new ScriptedLimits();
  limits.reset("refuse");
  const guard = new TableGuard();
  guard.count = limits.count;
  const dispatcher = dispatcherOf([rawService(ENDPOINTS)], { guard });
  const [endpoint] = dispatcher.endpoints;
  const channel = new InProcessChannel(dispatcher);
  for (const admission of [SYSTEM, { endpoint, caller: undefined, namespace: "default" }]) {
    t.equal((await new Call(channel, "one", { admission }).send("a").ended()).code, Code.OK);
  }
  t.same(limits.counted, []);
});

t.test("a call whose rule is deleted while it is counted is refused", async (t) => {
  const limits = new ScriptedLimits();
  limits.reset("grant later");
  const guard = new TableGuard();
  guard.count = limits.count;
  const channel = new InProcessChannel(dispatcherOf([rawService(ENDPOINTS)], { guard }));
  const ended = new Call(channel, "one").send("a").ended();
  await until(() => limits.counted.length === 1);
  guard.closed.add("raw:Raw.One");
  await limits.release();
  t.equal((await ended).code, Code.UNAUTHENTICATED);
  await released(t, limits, 1);
});
