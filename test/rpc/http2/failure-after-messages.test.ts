// An error status is delivered after the messages that were sent before it, even to a caller that
// was paused when it arrived.
import t, { type Test } from "tap";
import { Code, StatusError } from "../../../src/errors.js";
import type { Status } from "../../../src/rpc/channel.js";
import { stream, unary } from "../../../src/rpc/client.js";
import type { GrpcServer } from "../../../src/rpc/transport.js";
import { channelTo, listenHttp2 } from "../../http2/serve.js";
import { RawService, rawService } from "../raw-service.js";
import { dispatcherOf, listen } from "../serve.js";

const TEXTS = ["first", "second", "third"];
const FAILURE = { code: Code.ABORTED, message: "as told" };
const service = rawService({
  one: (request) => request,
  async *download() {
    for (const text of TEXTS) yield Buffer.from(text);
    throw new StatusError(FAILURE.code, FAILURE.message);
  },
});

const servers: [title: string, serve: (t: Test) => Promise<GrpcServer>][] = [
  ["Portico's server", (t) => listenHttp2(t, dispatcherOf([service]))],
  ["grpc-js", (t) => listen(t, dispatcherOf([service]))],
];
for (const [title, serve] of servers) {
  t.test(`${title}: a caller that pauses at each message`, async (t) => {
    const channel = channelTo(t, (await serve(t)).address);
    const told: string[] = [];
    const status = await new Promise<Status>((onEnd) => {
      const call = channel.open(
        { path: RawService.download.path, metadata: [], deadlineMonotonicMs: performance.now() + 10_000 },
        {
          async onMessage(message) {
            told.push(Buffer.from(message).toString());
            call.pause();
            // After these calls have returned, all messages have arrived.
            for (let calls = 0; calls < 5; calls++) await unary(channel, RawService.one, Buffer.from("tick"));
            call.resume();
          },
          onEnd,
        },
      );
      call.send(Buffer.from("go"));
      call.end();
    });
    t.match(status, FAILURE);
    t.same(told, TEXTS);
  });

  t.test(`${title}: a caller that reads late`, async (t) => {
    const channel = channelTo(t, (await serve(t)).address);
    const { send, end, responses } = stream(channel, RawService.download);
    send(Buffer.from("go"));
    end();
    for (let calls = 0; calls < 5; calls++) await unary(channel, RawService.one, Buffer.from("tick"));
    const told: string[] = [];
    const reading = (async () => {
      for await (const message of responses) told.push(message.toString());
    })();
    await t.rejects(reading, FAILURE);
    t.same(told, TEXTS);
  });
}
