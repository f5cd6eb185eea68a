// Open streams are re-authorized: a stream ends when the rule that admitted it is deleted.
import t from "tap";
import { SYSTEM } from "../../src/call/admission.js";
import { Code } from "../../src/errors.js";
import { type CallOptions, stream, unary } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { RawService, rawService } from "./raw-service.js";
import { dispatcherOf } from "./serve.js";
import { TableGuard } from "./table-guard.js";

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

const wait = async (signal: AbortSignal): Promise<Buffer> => {
  await aborted(signal);
  return Buffer.from("too late");
};

const service = rawService({
  one: (request) => request,
  async *download(_request, { signal }) {
    yield Buffer.from("open");
    yield await wait(signal);
  },
  upload: (_requests, { signal }) => wait(signal),
  async *chat(requests) {
    yield Buffer.from("open");
    for await (const request of requests) yield request;
  },
});

function open(
  method: typeof RawService.download | typeof RawService.upload | typeof RawService.chat,
  options: CallOptions = {},
) {
  const guard = new TableGuard();
  const channel = new InProcessChannel(dispatcherOf([service], { guard }));
  const opened = stream(channel, method, options);
  opened.send(Buffer.from("a"));
  if (!method.requestStream) opened.end();
  return { guard, opened, iterator: opened.responses[Symbol.asyncIterator]() };
}

for (const [name, method] of [
  ["Download", RawService.download],
  ["Upload", RawService.upload],
  ["Chat", RawService.chat],
] as const) {
  t.test(`${name} ends with the status of the refusal`, async (t) => {
    const { guard, iterator } = open(method);
    if (method.responseStream) t.equal(`${(await iterator.next()).value}`, "open");
    t.equal(guard.following, 1);
    guard.close(`raw:Raw.${name}`);
    await t.rejects(iterator.next(), {
      code: Code.UNAUTHENTICATED,
      message: `Unauthorized call made to raw:Raw.${name}`,
    });
    t.equal(guard.following, 0);
  });
}

t.test("a stream that is still allowed continues", async (t) => {
  const { guard, opened, iterator } = open(RawService.chat);
  await iterator.next();
  guard.close("raw:Raw.Download");
  t.equal(`${(await iterator.next()).value}`, "a");
  opened.cancel();
});

for (const [how, finish] of [
  ["ended", (opened) => opened.end()],
  ["was cancelled", (opened) => opened.cancel()],
] as const satisfies [string, (opened: ReturnType<typeof open>["opened"]) => void][]) {
  t.test(`the guard no longer follows a stream that ${how}`, async (t) => {
    const { guard, opened, iterator } = open(RawService.chat);
    await iterator.next();
    t.equal(guard.following, 1);
    finish(opened);
    for (let open = true; open; )
      open = await iterator.next().then(
        ({ done }) => !done,
        () => false,
      );
    t.equal(guard.following, 0);
  });
}

t.test("a stream that is refused before its endpoint has started does not reach the endpoint", async (t) => {
  const { guard, iterator } = (() => {
    const guard = new TableGuard();
    guard.follow = (admission, onRefused) => {
      const unfollow = TableGuard.prototype.follow.call(guard, admission, onRefused);
      guard.close(admission.endpoint.name);
      return unfollow;
    };
    const reached = rawService({ download: () => t.fail("it began") as never });
    const opened = stream(new InProcessChannel(dispatcherOf([reached], { guard })), RawService.download);
    opened.send(Buffer.from("a"));
    opened.end();
    return { guard, iterator: opened.responses[Symbol.asyncIterator]() };
  })();
  await t.rejects(iterator.next(), { code: Code.UNAUTHENTICATED });
  t.equal(guard.following, 0);
});

t.test("the guard follows neither the process's own streams nor unary calls", async (t) => {
  const { guard, opened, iterator } = open(RawService.chat, { admission: SYSTEM });
  await iterator.next();
  t.equal(guard.following, 0);
  opened.cancel();
  const channel = new InProcessChannel(dispatcherOf([service], { guard }));
  await unary(channel, RawService.one, Buffer.from("a"));
  t.equal(guard.following, 0);
});
