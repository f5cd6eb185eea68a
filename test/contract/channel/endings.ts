/** How calls end: by an error, at the deadline, by cancellation, or with the channel. */
import { Code, StatusError } from "../../../src/errors.js";
import type { Status } from "../../../src/rpc/channel.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { RawService } from "../../rpc/raw-service.js";
import { setWallClock } from "../../support/clock.js";
import { deferred } from "../../support/deferred.js";
import {
  aborted,
  type Behaviour,
  collect,
  connected,
  lasting,
  never,
  Recorded,
  rejection,
  SENT,
  start,
  TYPE_URL,
  text,
  textOf,
} from "./calls.js";

const HOUR = 3_600_000;
/** The maximum of a status code. */
const MAX_CODE = 2 ** 31 - 1;

const textOfBytes = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

export const endings: Readonly<Record<string, Behaviour>> = {
  "carries a failure with code, message, details and trailers": async (t, serve) => {
    const message = '100 % wrong: "ä"\n日本 \u{1f600}';
    const details = [{ typeUrl: TYPE_URL, value: Buffer.from([10, 1, 65]) }];
    const channel = await serve({
      one: (_request, context) => {
        context.setTrailers(SENT);
        throw new StatusError(Code.FAILED_PRECONDITION, message, { details });
      },
    });
    const recorded = new Recorded();
    const call = channel.open(start(RawService.one), recorded);
    call.send(Buffer.from("a"));
    call.end();
    const status = await recorded.ended;
    t.equal(status.code, Code.FAILED_PRECONDITION);
    t.equal(status.message, message);
    t.match(status.details, [{ typeUrl: TYPE_URL, value: Buffer.from([10, 1, 65]) }]);
    t.equal(textOf(status.trailers, "x-text"), "one, two");
    t.notOk(status.neverSent);
  },

  "carries a code that google.rpc.Code does not have": async (t, serve) => {
    const details = [{ typeUrl: TYPE_URL, value: Buffer.from([10, 1, 65]) }];
    const channel = await serve({
      one: (request) => {
        throw new StatusError(Number(textOfBytes(request)), "the tuple is invalid", { details });
      },
    });
    for (const code of [17, 2_027, MAX_CODE]) {
      const recorded = new Recorded();
      const call = channel.open(start(RawService.one), recorded);
      call.send(Buffer.from(`${code}`));
      call.end();
      const { trailers: _, ...ended } = await recorded.ended;
      t.match(ended, { code, message: "the tuple is invalid", details });
      t.notOk(ended.protocolError, "the service's own");
    }
  },

  "ends a call as an error of the service if no status can have its code": async (t, serve) => {
    const channel = await serve({
      one: (request) => {
        throw new StatusError(Number(textOfBytes(request)), "secret");
      },
    });
    for (const code of ["-1", "1.5", `${MAX_CODE + 1}`, "none"]) {
      const recorded = new Recorded();
      const call = channel.open(start(RawService.one), recorded);
      call.send(Buffer.from(code));
      call.end();
      t.match(await recorded.ended, { code: Code.INTERNAL, message: "Internal error" }, code);
    }
  },

  "carries the messages that were sent before an error": async (t, serve) => {
    const received = deferred();
    const channel = await serve({
      async *download(request) {
        yield request;
        await received.promise;
        throw new StatusError(Code.ABORTED, "enough");
      },
    });
    const { send, end, responses } = stream(channel, RawService.download);
    send(Buffer.from("a"));
    end();
    const heard: string[] = [];
    const reading = (async () => {
      for await (const response of responses) {
        heard.push(text(response));
        received.resolve();
      }
    })();
    t.match(await rejection(reading), { code: Code.ABORTED, message: "enough" });
    t.same(heard, ["a"]);
  },

  "responds with INTERNAL, without the message of the error, when an endpoint throws by mistake": async (t, serve) => {
    const channel = await serve({
      one: () => {
        throw new TypeError("secret at /etc/passwd");
      },
    });
    const error = await rejection(unary(channel, RawService.one, Buffer.from("a")));
    t.match(error, { code: Code.INTERNAL, message: "Internal error" });
  },

  "responds with UNIMPLEMENTED to an unknown path": async (t, serve) => {
    const channel = await serve({});
    const unknown = { ...RawService.one, path: "/raw.Raw/Unknown" };
    t.match(await rejection(unary(channel, unknown, Buffer.from("a"))), { code: Code.UNIMPLEMENTED });
  },

  "ends a call at its deadline, on both sides": async (t, serve) => {
    const stopped = deferred();
    let deadline = 0;
    const channel = await serve({
      one: async (_request, context) => {
        t.ok(Math.abs((context.deadlineMonotonicMs ?? 0) - deadline) < 1_000, "the endpoint knows the deadline");
        const left = (context.deadline ?? 0) - Date.now();
        t.ok(Math.abs(left - (deadline - performance.now())) < 1_000, "by the wall clock too");
        await aborted(context.signal);
        stopped.resolve();
        return never();
      },
    });
    await connected(channel);
    deadline = performance.now() + 200;
    const error = await rejection(unary(channel, RawService.one, Buffer.from("a"), { deadlineMonotonicMs: deadline }));
    t.match(error, { code: Code.DEADLINE_EXCEEDED, message: "Deadline exceeded" });
    t.ok(performance.now() >= deadline - 5, "not before");
    await stopped.promise;
  },

  "ends a call at its deadline although the clock is set back": async (t, serve) => {
    const channel = await serve({ one: never });
    await connected(channel);
    const deadline = performance.now() + 200;
    const call = rejection(unary(channel, RawService.one, Buffer.from("a"), { deadlineMonotonicMs: deadline }));
    setWallClock(t, -2 * HOUR);
    t.equal((await call).code, Code.DEADLINE_EXCEEDED);
  },

  "ends no call because the clock is set forward": async (t, serve) => {
    const reached = deferred();
    const goOn = deferred();
    const channel = await serve({
      one: async (request) => {
        if (`${request}` === "hangs") return never();
        reached.resolve();
        await goOn.promise;
        return request;
      },
    });
    const call = unary(channel, RawService.one, Buffer.from("a"), { deadlineMonotonicMs: performance.now() + HOUR });
    await reached.promise;
    setWallClock(t, 2 * HOUR);
    // When this call has ended, both sides have checked their deadlines.
    await rejection(
      unary(channel, RawService.one, Buffer.from("hangs"), { deadlineMonotonicMs: performance.now() + 50 }),
    );
    goOn.resolve();
    t.equal(text(await call), "a");
  },

  "ends a call whose deadline has passed": async (t, serve) => {
    const channel = await serve({ one: never });
    const deadline = performance.now() - 1;
    const error = await rejection(unary(channel, RawService.one, Buffer.from("a"), { deadlineMonotonicMs: deadline }));
    t.equal(error.code, Code.DEADLINE_EXCEEDED);
  },

  "ends a call at its deadline if it is never sent completely": async (t, serve) => {
    const channel = await serve({ one: (request) => request });
    const recorded = new Recorded();
    channel.open(start(RawService.one, { deadlineMonotonicMs: performance.now() + 50 }), recorded);
    t.equal((await recorded.ended).code, Code.DEADLINE_EXCEEDED);
  },

  "notifies the endpoint that its unary call was cancelled": async (t, serve) => {
    const { one, reached, stopped } = lasting();
    const channel = await serve({ one });
    const controller = new AbortController();
    const call = unary(channel, RawService.one, Buffer.from("a"), { signal: controller.signal });
    await reached.promise;
    controller.abort();
    t.equal((await rejection(call)).code, Code.CANCELLED);
    await stopped.promise;
  },

  "does not begin a call whose signal is aborted already": async (t, serve) => {
    const channel = await serve({ one: () => t.fail("it began") as never });
    const signal = AbortSignal.abort();
    t.equal((await rejection(unary(channel, RawService.one, Buffer.from("a"), { signal }))).code, Code.CANCELLED);
  },

  "notifies the endpoint that its stream was cancelled, so that it cleans up": async (t, serve) => {
    const cleaned = deferred();
    const channel = await serve({
      async *download(_request, { signal }) {
        try {
          yield Buffer.from("first");
          await aborted(signal);
          yield Buffer.from("second");
        } finally {
          cleaned.resolve();
        }
      },
    });
    const { send, end, responses } = stream(channel, RawService.download);
    send(Buffer.from("a"));
    end();
    for await (const response of responses) {
      t.equal(text(response), "first");
      break;
    }
    await cleaned.promise;
  },

  "ends the endpoint's reading when the caller cancels": async (t, serve) => {
    const reading = deferred();
    const broken = deferred<StatusError>();
    const channel = await serve({
      async *chat(requests) {
        yield Buffer.from("reading");
        try {
          for await (const _request of requests) reading.resolve();
        } catch (error) {
          broken.resolve(error as StatusError);
        }
      },
    });
    const { send, cancel, responses } = stream(channel, RawService.chat);
    send(Buffer.from("a"));
    await reading.promise;
    cancel();
    t.equal((await broken.promise).code, Code.CANCELLED);
    t.equal((await rejection(collect(responses))).code, Code.CANCELLED);
  },

  "notifies the caller only of the end after a cancel": async (t, serve) => {
    const channel = await serve({
      async *download(request) {
        for (;;) yield request;
      },
    });
    const recorded = new Recorded();
    const call = channel.open(start(RawService.download), recorded);
    recorded.react = () => {
      recorded.react = () => t.fail("a message after the cancel");
      call.cancel();
      call.cancel();
    };
    call.send(Buffer.from("a"));
    call.end();
    t.equal((await recorded.ended).code, Code.CANCELLED);
    t.equal(recorded.messages.length, 1);
    t.equal(recorded.ends.length, 1);
  },

  "notifies of the end once; using the call afterwards does no harm": async (t, serve) => {
    const channel = await serve({ one: (request) => request });
    const recorded = new Recorded();
    const call = channel.open(start(RawService.one), recorded);
    call.send(Buffer.from("a"));
    call.end();
    await recorded.ended;
    call.send(Buffer.from("b"));
    call.pause();
    call.resume();
    call.end();
    call.cancel();
    await recorded.ended;
    t.equal(recorded.ends.length, 1);
    t.equal(recorded.ends[0]?.code, Code.OK);
    t.equal(recorded.messages.length, 1);
  },

  "never calls the listener while a method of the call runs": async (t, serve) => {
    const channel = await serve({
      one: (request) => request,
      async *chat(requests) {
        for await (const request of requests) yield request;
      },
    });
    let inside = "";
    let callbacks = 0;
    const use = <T>(name: string, action: () => T): T => {
      const outer = inside;
      inside = name;
      const result = action();
      inside = outer;
      return result;
    };
    const notified = (callback: string): void => {
      callbacks++;
      t.equal(inside, "", `${callback} from within ${inside}`);
    };
    for (const [method, code] of [
      [RawService.one, Code.OK],
      [RawService.chat, Code.OK],
      [{ path: "/raw.Raw/Unknown" }, Code.UNIMPLEMENTED],
    ] as const) {
      const ended = deferred<Status>();
      const call = use("open", () =>
        channel.open(start(method), {
          onHeaders: () => notified("onHeaders"),
          onDrain: () => notified("onDrain"),
          onMessage() {
            notified("onMessage");
            use("pause", () => call.pause());
            use("resume", () => call.resume());
          },
          onEnd(status) {
            notified("onEnd");
            ended.resolve(status);
          },
        }),
      );
      use("send", () => call.send(Buffer.from("a")));
      use("end", () => call.end());
      t.equal((await ended.promise).code, code);
      use("cancel", () => call.cancel());
    }
    t.ok(callbacks >= 5);
  },

  "ends a call with UNAVAILABLE when a timer closes the channel": async (t, serve) => {
    const channel = await serve({ one: never });
    const recorded = new Recorded();
    channel.open(start(RawService.one), recorded);
    setTimeout(() => channel.close());
    t.equal((await recorded.ended).code, Code.UNAVAILABLE);
  },

  "ends its calls when it is closed, and accepts no more": async (t, serve) => {
    const { one, reached, stopped } = lasting();
    const channel = await serve({ one });
    const recorded = new Recorded();
    const call = channel.open(start(RawService.one), recorded);
    call.send(Buffer.from("a"));
    call.end();
    await reached.promise;
    channel.close();
    channel.close();
    t.match(await recorded.ended, { code: Code.UNAVAILABLE, neverSent: undefined });
    t.equal(recorded.ends.length, 1);
    await stopped.promise;
    t.equal(channel.state, "closed");
    const late = new Recorded();
    channel.open(start(RawService.one), late).send(Buffer.from("a"));
    t.match(await late.ended, { code: Code.UNAVAILABLE, neverSent: true });
  },
};
