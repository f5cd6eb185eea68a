// Failures of calls, and how they are reported to the caller and in the log.

import { pino } from "pino";
import t from "tap";
import { Code, StatusError } from "../../src/errors.js";
import { stream, unary } from "../../src/rpc/client.js";
import { Dispatcher } from "../../src/rpc/dispatch.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { part } from "../../src/rpc/service.js";
import { deferred } from "../support/deferred.js";
import { MALFORMED, type RawImplementation, RawService, rawService } from "./raw-service.js";
import { dispatcherOf, LIMITS, stayAlive } from "./serve.js";
import { TableGuard } from "./table-guard.js";

function serve(endpoints: Partial<RawImplementation>, limits = LIMITS) {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => lines.push(line) });
  return { channel: new InProcessChannel(dispatcherOf([rawService(endpoints)], { log, limits })), lines };
}

const secret = (): never => {
  throw new TypeError("secret");
};

const FAILURES: [what: string, endpoints: Partial<RawImplementation>, method: keyof typeof RawService][] = [
  ["a unary endpoint throws", { one: secret }, "one"],
  ["a unary endpoint rejects", { one: async () => secret() }, "one"],
  ["a unary endpoint rejects with undefined", { one: () => Promise.reject(undefined) }, "one"],
  [
    "a unary endpoint throws a StatusError with the code OK",
    {
      one: () => {
        throw new StatusError(Code.OK, "fine");
      },
    },
    "one",
  ],
  ["a unary endpoint returns undefined instead of a message", { one: () => undefined as never }, "one"],
  [
    "a stream throws",
    {
      // biome-ignore lint/correctness/useYield: this generator must fail before its first yield
      async *download() {
        secret();
      },
    },
    "download",
  ],
  ["a streaming endpoint returns undefined instead of an iterable", { download: () => undefined as never }, "download"],
  ["an endpoint that reads requests throws", { upload: async () => secret() }, "upload"],
];

for (const [what, endpoints, method] of FAILURES) {
  t.test(`unexpected: ${what}`, async (t) => {
    const { channel, lines } = serve(endpoints);
    const { send, end, responses } = stream(channel, RawService[method]);
    send(Buffer.from("a"));
    end();
    await t.rejects(responses[Symbol.asyncIterator]().next(), { code: Code.INTERNAL, message: "Internal error" });
    t.equal(lines.length, 1);
    t.match(JSON.parse(lines[0] ?? ""), { level: 50, endpoint: /^raw:Raw\./, err: { stack: String } });
  });
}

t.test("a StatusError that an endpoint throws is not logged", async (t) => {
  const { channel, lines } = serve({
    one: () => {
      throw new StatusError(Code.NOT_FOUND, "no such thing");
    },
  });
  const called = unary(channel, RawService.one, Buffer.from("a"));
  await t.rejects(called, { code: Code.NOT_FOUND, message: "no such thing" });
  t.same(lines, []);
});

t.test("a malformed request ends with INVALID_ARGUMENT", async (t) => {
  const message = /^the request to raw:Raw\.\w+ is not a raw\.Bytes$/;
  const { channel, lines } = serve({
    one: (request) => request,
    upload: async (requests) => {
      for await (const _request of requests);
      return Buffer.from("never");
    },
  });
  await t.rejects(unary(channel, RawService.one, MALFORMED), { code: Code.INVALID_ARGUMENT, message });
  const { send, end, responses } = stream(channel, RawService.upload);
  send(Buffer.from("good"));
  send(MALFORMED);
  end();
  await t.rejects(responses[Symbol.asyncIterator]().next(), { code: Code.INVALID_ARGUMENT, message });
  t.same(lines, []);
});

t.test("an endpoint that fails in its `finally` block is logged", async (t) => {
  const { promise: cleaning, resolve: cleaned } = deferred();
  const { channel, lines } = serve({
    async *download(request) {
      try {
        for (;;) yield request;
      } finally {
        cleaned();
        secret();
      }
    },
  });
  const { send, end, cancel, responses } = stream(channel, RawService.download);
  send(Buffer.from("a"));
  end();
  await responses[Symbol.asyncIterator]().next();
  cancel();
  await cleaning;
  await new Promise(setImmediate);
  t.match(JSON.parse(lines[0] ?? ""), { msg: "an endpoint failed at cleaning up", err: { message: "secret" } });
});

t.test("a unary call without a deadline gets one, and a late deadline is limited", async (t) => {
  stayAlive(t);
  const limits = { ...LIMITS, callTime: 30, maxCallTime: 60 };
  const { channel } = serve({ one: () => new Promise<never>(() => {}) }, limits);
  for (const [deadline, least] of [
    [undefined, 30],
    [performance.now() + 3_600_000, 60],
  ]) {
    const begun = performance.now();
    const code = await new Promise((resolve) => {
      const listener = { onMessage() {}, onEnd: ({ code }: { code: Code }) => resolve(code) };
      const call = channel.open({ path: RawService.one.path, metadata: [], deadlineMonotonicMs: deadline }, listener);
      call.send(Buffer.from("a"));
      call.end();
    });
    t.equal(code, Code.DEADLINE_EXCEEDED);
    const took = performance.now() - begun;
    t.ok(took >= (least ?? 0) - 2 && took < 30_000, `${took} ms, not ${least}`);
  }
});

t.test("services that cannot be served are rejected by the constructor", async (t) => {
  const build =
    (...services: Parameters<typeof dispatcherOf>[0]) =>
    () =>
      dispatcherOf(services);
  const raw = rawService({});
  const definition = { one: RawService.one };
  const unimplemented = part(definition, {} as never);
  const unknown = part({ one: { ...RawService.one, path: "/raw.Raw/Unknown" } }, { one: secret });
  t.throws(build(raw, raw), { message: "/raw.Raw/One is served twice" });
  t.throws(build({ ...raw, parts: [unimplemented] }), { message: "raw:Raw.One has no implementation" });
  const other = part({ one: { ...RawService.one, path: "/raw.Other/One" } }, { one: secret });
  t.throws(build({ ...raw, parts: [other] }), { message: /raw\.Other/ });
  t.throws(build({ ...raw, parts: [unknown] }), { message: "service raw: no descriptor of /raw.Raw/Unknown" });
});

t.test("a unary call with a synchronous result creates no promise, timer or AbortController", async (t) => {
  const { createHook } = await import("node:async_hooks");
  const guard = new TableGuard();
  const dispatcher = new Dispatcher({
    services: [rawService({ one: (request) => request })],
    guard,
    limits: LIMITS,
    log: pino({ level: "silent" }),
  });
  const channel = new InProcessChannel(dispatcher);
  const made: string[] = [];
  const hook = createHook({ init: (_id, type) => made.push(type) });
  const call = (within: () => void): Promise<void> =>
    new Promise((resolve) => {
      const start = { path: RawService.one.path, metadata: [], deadlineMonotonicMs: performance.now() + 60_000 };
      const message = Buffer.from("a");
      within();
      const call = channel.open(start, { onMessage() {}, onEnd: () => resolve() });
      call.send(message);
      call.end();
      hook.disable();
    });
  await call(() => {}); // All calls share one timer; the first call sets it.
  await call(() => hook.enable());
  t.same(made, ["Microtask"], "the one that delivers the response");
});
