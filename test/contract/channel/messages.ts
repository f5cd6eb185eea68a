/** The messages of each kind of call: complete and in order, in both directions. */
import { Code } from "../../../src/errors.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { RawService } from "../../rpc/raw-service.js";
import { type Behaviour, collect, Recorded, start, text } from "./calls.js";

export const messages: Readonly<Record<string, Behaviour>> = {
  "carries a unary call": async (t, serve) => {
    const channel = await serve({ one: (request) => Buffer.from(`got ${text(request)}`) });
    t.equal(text(await unary(channel, RawService.one, Buffer.from("a"))), "got a");
    t.equal(channel.state, "ready");
  },

  "carries a response that comes later": async (t, serve) => {
    const channel = await serve({ one: async (request) => request });
    t.equal(text(await unary(channel, RawService.one, Buffer.from("a"))), "a");
  },

  "carries an empty message": async (t, serve) => {
    const channel = await serve({ one: (request) => request });
    t.equal((await unary(channel, RawService.one, Buffer.alloc(0))).length, 0);
  },

  "carries many calls at once": async (t, serve) => {
    const channel = await serve({ one: async (request) => request });
    const calls = Array.from({ length: 200 }, (_, i) => unary(channel, RawService.one, Buffer.from(`${i}`)));
    t.same((await Promise.all(calls)).map(text), [...calls.keys()].map(String));
  },

  "carries a stream of responses in order": async (t, serve) => {
    const channel = await serve({
      async *download(request) {
        for (let i = 0; i < 100; i++) yield Buffer.from(`${request} ${i}`);
      },
    });
    const { send, end, responses } = stream(channel, RawService.download);
    send(Buffer.from("a"));
    end();
    t.same(
      await collect(responses),
      Array.from({ length: 100 }, (_, i) => `a ${i}`),
    );
  },

  "carries a stream without responses": async (t, serve) => {
    const channel = await serve({ async *download() {} });
    const { send, end, responses } = stream(channel, RawService.download);
    send(Buffer.from("a"));
    end();
    t.same(await collect(responses), []);
  },

  "carries a stream of requests in order": async (t, serve) => {
    const channel = await serve({ upload: async (requests) => Buffer.from((await collect(requests)).join()) });
    const { send, drained, end, responses } = stream(channel, RawService.upload);
    for (let i = 0; i < 100; i++) if (!send(Buffer.from(`${i}`))) await drained();
    end();
    t.same(await collect(responses), [Array.from({ length: 100 }, (_, i) => i).join()]);
  },

  "carries both streams at once, message by message": async (t, serve) => {
    const channel = await serve({
      async *chat(requests) {
        for await (const request of requests) yield Buffer.from(`re ${request}`);
      },
    });
    const { send, end, responses } = stream(channel, RawService.chat);
    const heard: string[] = [];
    send(Buffer.from("0"));
    for await (const response of responses) {
      heard.push(text(response));
      if (heard.length < 5) send(Buffer.from(`${heard.length}`));
      else end();
    }
    t.same(heard, ["re 0", "re 1", "re 2", "re 3", "re 4"]);
  },

  "continues the responses after the requests have ended": async (t, serve) => {
    const channel = await serve({
      async *chat(requests) {
        const heard = await collect(requests);
        for (const word of [...heard, "end"]) yield Buffer.from(word);
      },
    });
    const { send, end, responses } = stream(channel, RawService.chat);
    send(Buffer.from("a"));
    end();
    t.same(await collect(responses), ["a", "end"]);
  },

  "lets the server end while requests are still open": async (t, serve) => {
    const channel = await serve({
      async *chat(requests) {
        for await (const request of requests) {
          yield request;
          return;
        }
      },
    });
    const { send, responses } = stream(channel, RawService.chat);
    send(Buffer.from("a"));
    t.same(await collect(responses), ["a"]);
    t.doesNotThrow(() => send(Buffer.from("b")), "sending into an ended call is harmless");
  },

  "refuses a unary call without a message, and with two": async (t, serve) => {
    const channel = await serve({ one: (request) => request });
    for (const messages of [0, 2]) {
      const recorded = new Recorded();
      const call = channel.open(start(RawService.one), recorded);
      for (let i = 0; i < messages; i++) call.send(Buffer.from("a"));
      call.end();
      t.equal((await recorded.ended).code, Code.UNIMPLEMENTED, `${messages} messages`);
    }
  },
};
