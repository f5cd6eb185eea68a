// A TypeScript client ends a call when its stream is silent, or when unread messages fill its
// memory.
import t from "tap";
import { PorticoClient } from "../../src/client/client.js";
import { LIMITS } from "../../src/client/lines.js";
import type { CallOptions } from "../../src/client/options.js";
import { until } from "../support/until.js";
import { openFaultyGateway } from "./faulty-gateway.js";

interface Probe {
  count(request?: object, options?: CallOptions): AsyncGenerator<unknown>;
  chat(messages: Iterable<object>, options?: CallOptions): AsyncGenerator<unknown>;
}

class Client extends PorticoClient {
  readonly probe: Probe = this.bind("probe", {
    count: { path: "/probe/Count", shape: "server" },
    chat: { path: "/probe/Chat", shape: "bidi" },
  });
}

const gateway = await openFaultyGateway(t);
const probe = (failure: string) => new Client({ url: `${gateway.url}/${failure}`, token: "", retries: 0 }).probe;
const before = { ...LIMITS };
t.afterEach(() => void Object.assign(LIMITS, before));

/** Reads to the end. */
async function collect(messages: AsyncIterable<unknown>, into: unknown[] = []): Promise<unknown[]> {
  for await (const message of messages) into.push(message);
  return into;
}

t.test("a stream that becomes silent fails, after its messages", async (t) => {
  const messages: unknown[] = [];
  // On a busy machine it may be silent for this time before its first message.
  for (LIMITS.maxSilenceMs = 300; messages.length === 0; LIMITS.maxSilenceMs *= 2) {
    const Detail = `The stream was silent for ${LIMITS.maxSilenceMs / 1000} s`;
    await t.rejects(collect(probe("silent").count(), messages), {
      name: "PorticoError",
      message: `${Detail} (503 Service Unavailable)`,
    });
  }
  t.same(messages, [{}]);
});

t.test("a stream that does not begin fails", async (t) => {
  LIMITS.maxSilenceMs = 300;
  await t.rejects(collect(probe("mute").count()), { name: "PorticoError", message: /silent for 0.3 s \(503/ });
});

t.test("a message without an end fails the call", async (t) => {
  await t.rejects(collect(probe("endless").count()), { message: /a message is longer than 64 MiB \(503/ });
});

t.test("messages of a WebSocket that are not read fail the call", async (t) => {
  LIMITS.maxUnread = 4 * 1024 * 1024;
  const responses = probe("flood").chat([{}], { signal: AbortSignal.timeout(20_000) });
  t.match(await responses.next(), { done: false });
  await until(() => !gateway.isOpen() || gateway.flooded() > 100);
  const ending = (async () => {
    for await (const _ of responses);
  })();
  await t.rejects(ending, { message: "Messages came faster than they were read (503 Closed)" });
});

t.test("a message that looks like an error is an error only at the end, with the error's close code", async (t) => {
  const responses: unknown[] = [];
  const failed = { name: "PorticoError", Id: "last", Code: 503 };
  await t.rejects(collect(probe("looks-like-an-error").chat([{}, {}]), responses), failed as unknown as Error);
  t.match(responses, [{ padding: "no error" }, { Id: "first" }, { number: "2" }]);
});

t.test("a message with one member of an error is not an error, and is delivered at once", async (t) => {
  const { messages, say } = conversation();
  const responses = probe("echo").chat(messages as unknown as Iterable<object>);
  for (const message of [{ Id: "1" }, { Id: "2", Code: 404, Detail: "x", Status: "x", more: 1 }]) {
    say(message);
    t.same(await responses.next(), { done: false, value: message });
  }
  await responses.return(undefined);
});

/** Messages that are sent when the test decides. */
function conversation() {
  let next: (message: object) => void = () => {};
  const wait = () =>
    new Promise<object>((resolve) => {
      next = resolve;
    });
  let waiting = wait();
  async function* messages(): AsyncGenerator<object> {
    for (;;) {
      yield await waiting;
      waiting = wait();
    }
  }
  return { messages: messages(), say: (message: object) => next(message) };
}
