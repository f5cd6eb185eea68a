// While the caller of a stream is paused, the stream keeps nothing in memory: not the request, not
// a response that was sent, and not the next response.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t, { type Test } from "tap";
import type { OutgoingCall } from "../../src/rpc/channel.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf, stayAlive } from "./serve.js";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

stayAlive(t);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A stream of responses whose caller has paused at the first one. */
async function pausedStream(t: Test) {
  const made: WeakRef<object>[] = [];
  let request: WeakRef<object> | undefined;
  const service = rawService({
    download(received) {
      request = new WeakRef(received);
      return responses(made);
    },
  });
  const channel = new InProcessChannel(dispatcherOf([service]));
  t.teardown(() => channel.close());
  let received = 0;
  const call: OutgoingCall = channel.open(
    { path: RawService.download.path, metadata: [] },
    {
      onMessage() {
        received++;
        call.pause();
      },
      onEnd() {},
    },
  );
  call.send(Buffer.alloc(1_000));
  call.end();
  await turn();
  return { call, made, request: () => request, received: () => received };
}

async function* responses(made: WeakRef<object>[]): AsyncGenerator<Buffer> {
  for (;;) yield response(made);
}

function response(made: WeakRef<object>[]): Buffer {
  const bytes = Buffer.alloc(1_000);
  made.push(new WeakRef(bytes));
  return bytes;
}

t.test("the endpoint creates no response before the caller reads more", async (t) => {
  const { call, made, received } = await pausedStream(t);
  t.equal(made.length, 1);
  call.resume();
  await turn();
  t.equal(made.length, 2);
  t.equal(received(), 2);
});

t.test("the call keeps neither the request nor a response in memory", async (t) => {
  const { made, request } = await pausedStream(t);
  await turn();
  collect();
  t.same([request()?.deref(), ...made.map((one) => one.deref())], [undefined, undefined]);
});
