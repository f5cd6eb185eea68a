// A call is authorized again when its message has arrived: a rule may have been deleted since it
// opened.
import t, { type Test } from "tap";
import { Code } from "../../src/errors.js";
import type { Channel } from "../../src/rpc/channel.js";
import { stream } from "../../src/rpc/client.js";
import type { Dispatcher } from "../../src/rpc/dispatch.js";
import { GrpcChannel } from "../../src/rpc/grpc-js/channel.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { channelTo, listenHttp2 } from "../http2/serve.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf, listen } from "./serve.js";
import { TableGuard } from "./table-guard.js";

const TRANSPORTS: Record<string, (t: Test, dispatcher: Dispatcher) => Promise<Channel>> = {
  "in process": async (_t, dispatcher) => new InProcessChannel(dispatcher),
  "over HTTP/2": async (t, dispatcher) => channelTo(t, (await listenHttp2(t, dispatcher)).address),
  "over grpc-js": async (t, dispatcher) => {
    const channel = new GrpcChannel((await listen(t, dispatcher)).address);
    t.teardown(() => channel.close());
    return channel;
  },
};

const SHAPES = { One: "one", Download: "download", Upload: "upload", Chat: "chat" } as const;

for (const [transport, connect] of Object.entries(TRANSPORTS)) {
  for (const later of [false, true]) {
    for (const [name, key] of Object.entries(SHAPES)) {
      // When the caller of a stream must be looked up, the guard that follows the stream does that.
      if (later && RawService[key].requestStream) continue;
      const when = later ? "after its caller was looked up" : "at once";
      t.test(`${name} ${transport}: a late message is refused ${when}`, async (t) => {
        const guard = new TableGuard();
        const got: string[] = [];
        const note = (request: Buffer): Buffer => {
          got.push(`${request}`);
          return request;
        };
        const service = rawService({
          one: note,
          async *download(request) {
            yield note(request);
          },
          async upload(requests) {
            for await (const request of requests) note(request);
            return Buffer.from("done");
          },
          async *chat(requests) {
            for await (const request of requests) yield note(request);
          },
        });
        const channel = await connect(t, dispatcherOf([service], { guard }));
        const call = stream(channel, RawService[key]);
        await guard.asked(1);
        guard.later = later;
        // Closes the endpoint without refusing open streams, like a guard that has lost its lease.
        guard.closed.add(`raw:Raw.${name}`);
        call.send(Buffer.from("a"));
        call.end();
        const responses = (async () => {
          for await (const _answer of call.responses);
        })();
        await t.rejects(responses, {
          code: Code.UNAUTHENTICATED,
          message: `Unauthorized call made to raw:Raw.${name}`,
        });
        t.same(got, [], "the endpoint got nothing");
      });
    }
  }
}

t.test("a call that carries this process's own admission is not admitted again", async (t) => {
  const guard = new TableGuard();
  const dispatcher = dispatcherOf([rawService({ one: (request) => request })], { guard });
  const endpoint = dispatcher.endpoints.find(({ name }) => name === "raw:Raw.One");
  if (endpoint === undefined) throw new Error("raw:Raw.One is served");
  const admission = { endpoint, caller: undefined, namespace: "default" };
  const call = stream(new InProcessChannel(dispatcher), RawService.one, { admission });
  call.send(Buffer.from("a"));
  call.end();
  for await (const response of call.responses) t.equal(`${response}`, "a");
  t.equal(guard.asks, 0);
});
