/** Back-pressure on a sender that is faster than its receiver, and the limit of a message. */

import { randomBytes } from "node:crypto";
import { Code } from "../../../src/errors.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { RawService } from "../../rpc/raw-service.js";
import { deferred } from "../../support/deferred.js";
import { type Behaviour, collect, connected, MAX_BODY, Recorded, rejection, start, text } from "./calls.js";

export const flow: Readonly<Record<string, Behaviour>> = {
  "drops the requests that an endpoint does not read, and continues": async (t, serve) => {
    const total = 200;
    const dropped = deferred();
    const channel = await serve({
      async *chat(requests) {
        for await (const _request of requests) break;
        yield Buffer.from("enough");
        await dropped.promise;
        yield Buffer.from("end");
      },
    });
    const { send, drained, end, responses } = stream(channel, RawService.chat);
    const sending = (async () => {
      for (let i = 0; i < total; i++) if (!send(Buffer.alloc(10_000))) await drained();
      end();
      dropped.resolve();
    })();
    t.same(await collect(responses), ["enough", "end"]);
    await sending;
  },

  "delivers neither response nor end to a paused caller": async (t, serve) => {
    const channel = await serve({ one: (request) => request });
    const recorded = new Recorded();
    const call = channel.open(start(RawService.one), recorded);
    call.pause();
    call.send(Buffer.from("a"));
    call.end();
    for (let calls = 0; calls < 5; calls++) await unary(channel, RawService.one, Buffer.from("tick"));
    t.equal(recorded.messages.length + recorded.ends.length, 0);
    call.resume();
    t.equal((await recorded.ended).code, Code.OK);
    t.same(recorded.messages.map(text), ["a"]);
  },

  // Random bytes, because back-pressure counts bytes after compression.
  "makes a producer wait while its reader is paused": async (t, serve) => {
    const size = 50_000;
    const total = 100;
    let produced = 0;
    const channel = await serve({
      one: (request) => request,
      async *download() {
        for (; produced < total; produced++) yield randomBytes(size);
      },
    });
    const recorded = new Recorded();
    const call = channel.open(start(RawService.download), recorded);
    recorded.react = () => call.pause();
    call.send(Buffer.from("a"));
    call.end();
    // Other calls measure the time: while they succeed, a producer that does not wait continues.
    let before = -1;
    for (let still = 0; still < 20; still = produced === before ? still + 1 : 0) {
      before = produced;
      await unary(channel, RawService.one, Buffer.from("tick"));
    }
    t.ok(produced * size < 2_000_000, `${produced} messages produced for one read`);
    t.equal(recorded.messages.length, 1, "no message while paused");
    recorded.react = () => {};
    call.resume();
    t.equal((await recorded.ended).code, Code.OK);
    t.equal(recorded.messages.length, total, "all of them after the pause");
  },

  "makes a caller wait while the endpoint does not read": async (t, serve) => {
    const size = 50_000;
    const total = 100;
    const go = deferred();
    let received = 0;
    const channel = await serve({
      one: (request) => request,
      upload: async (requests) => {
        await go.promise;
        for await (const _request of requests) received++;
        return Buffer.from(`${received}`);
      },
    });
    const recorded = new Recorded();
    const call = channel.open(start(RawService.upload), recorded);
    let sent = 0;
    const send = (): void => {
      while (sent < total) {
        sent++;
        if (!call.send(randomBytes(size))) return;
      }
      call.end();
    };
    recorded.drained = send;
    send();
    let before = -1;
    for (let still = 0; still < 20; still = sent === before ? still + 1 : 0) {
      before = sent;
      await unary(channel, RawService.one, Buffer.from("tick"));
    }
    t.ok(sent * size < 2_000_000, `${sent} messages sent for none read`);
    go.resolve();
    t.equal((await recorded.ended).code, Code.OK);
    t.same(recorded.messages.map(text), [`${total}`], "all of them in the end");
  },

  "ends a call at its deadline although its reader is paused": async (t, serve) => {
    const channel = await serve({
      async *download() {
        for (;;) yield Buffer.alloc(50_000);
      },
    });
    await connected(channel);
    // On a busy machine a deadline may come before the first message.
    for (let time = 200, read = 0; read === 0; time *= 2) {
      const recorded = new Recorded();
      const call = channel.open(
        start(RawService.download, { deadlineMonotonicMs: performance.now() + time }),
        recorded,
      );
      recorded.react = () => call.pause();
      call.send(Buffer.from("a"));
      call.end();
      t.equal((await recorded.ended).code, Code.DEADLINE_EXCEEDED);
      read = recorded.messages.length;
      t.ok(read <= 1, `${read} messages`);
    }
  },

  "ends an endless stream at its deadline": async (t, serve) => {
    const channel = await serve({
      async *download(request) {
        for (;;) yield request;
      },
    });
    const { send, end, responses } = stream(channel, RawService.download, {
      deadlineMonotonicMs: performance.now() + 100,
    });
    send(Buffer.from("a"));
    end();
    t.equal((await rejection(collect(responses))).code, Code.DEADLINE_EXCEEDED);
  },

  "carries messages up to the limit, and refuses larger ones": async (t, serve) => {
    const channel = await serve({ one: (request) => Buffer.alloc(Number(text(request.subarray(0, 10)))) });
    const ask = (size: number, response: number) => {
      const request = Buffer.alloc(size, " ");
      request.write(`${response}`);
      return unary(channel, RawService.one, request);
    };
    t.equal((await ask(10, MAX_BODY)).length, MAX_BODY);
    t.equal((await ask(MAX_BODY, 10)).length, 10);
    t.equal((await rejection(ask(10, MAX_BODY + 1))).code, Code.RESOURCE_EXHAUSTED);
    t.equal((await rejection(ask(MAX_BODY + 1, 10))).code, Code.RESOURCE_EXHAUSTED);
    t.equal((await ask(10, 10)).length, 10, "the channel is as good as before");
  },

  "distinguishes a response that is too large from a protocol error, and delivers the messages before it": async (
    t,
    serve,
  ) => {
    const received = deferred();
    const channel = await serve({
      one: () => Buffer.alloc(MAX_BODY + 1),
      async *download() {
        yield Buffer.from("first");
        await received.promise;
        yield Buffer.alloc(MAX_BODY + 1);
      },
    });
    for (const method of [RawService.one, RawService.download]) {
      const recorded = new Recorded();
      recorded.react = () => received.resolve();
      const call = channel.open(start(method), recorded);
      call.send(Buffer.from("a"));
      call.end();
      const ended = await recorded.ended;
      t.match(ended, { code: Code.RESOURCE_EXHAUSTED, message: `a message is larger than ${MAX_BODY} bytes` });
      t.equal(ended.tooLarge, true);
      t.notOk(ended.protocolError);
      t.same(recorded.messages.map(text), method === RawService.one ? [] : ["first"]);
    }
  },
};
