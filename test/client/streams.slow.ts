// Streams of a TypeScript client in every direction, against a running gateway.
import t from "tap";
import { PorticoClient } from "../../src/client/client.js";
import type { CallOptions, Messages } from "../../src/client/options.js";
import { deploy, login, post } from "../gateway/deployment.js";
import { Feed } from "../gateway/dialects/json/streams/feed.js";
import { until } from "../support/until.js";

interface Tick {
  readonly number?: bigint | string;
  readonly padding?: string;
}

interface FeedClient {
  count(request: object, options?: CallOptions): AsyncGenerator<Tick>;
  chat(ticks: Messages<Tick>, options?: CallOptions): AsyncGenerator<Tick>;
  /** Like `chat` and `count`, with 64-bit integers as bigint. */
  chatInt64(ticks: Messages<Tick>): AsyncGenerator<Tick>;
  countInt64(request: object): AsyncGenerator<Tick>;
  collect(ticks: Messages<Tick>, options?: CallOptions): Promise<unknown>;
  stall(ticks: Messages<Tick>, options?: CallOptions): Promise<unknown>;
  chunks(request: object): AsyncGenerator<{ readonly contentType: string; readonly data: Uint8Array }>;
}

const int64 = ["Tick", { Tick: [["number", "Int64"]] }] as const;

class Client extends PorticoClient {
  readonly feed: FeedClient = this.bind("feed", {
    count: { path: "/feed/Count", shape: "server" },
    chat: { path: "/feed/Chat", shape: "bidi" },
    chatInt64: { path: "/feed/Chat", shape: "bidi", int64 },
    countInt64: { path: "/feed/Count", shape: "server", int64 },
    collect: { path: "/feed/Collect", shape: "client" },
    stall: { path: "/feed/Stall", shape: "client" },
    chunks: { path: "/feed/Pieces", shape: "server", answersBytes: true },
  });
}

const feed = new Feed();
const { handler, gateway, close } = await deploy(t.testdir(), { services: [feed.service] });
t.teardown(close);
const token = await login(handler, "admin");
const url = `http://127.0.0.1:${gateway.address.port}`;
const client = new Client({ url, token }).feed;

async function collect<T>(messages: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const message of messages) into.push(message);
  return into;
}

async function* ticksWithoutEnd(padding = ""): AsyncGenerator<Tick> {
  for (let number = 1n; ; number++) yield { number, padding };
}

/** Yields one message, and then waits for ever: only the end of the call ends it. */
async function* oneTick(): AsyncGenerator<Tick> {
  yield { number: 1n };
  await new Promise(() => {});
}

t.test("a stream that the client sends has one response", async (t) => {
  t.same(await client.collect([{ number: 1n }, { number: "2" }]), { count: "2", total: "3" });
  t.same(await client.collect([]), { count: "0", total: "0" });
});

t.test("a stream in both directions receives responses while it sends", async (t) => {
  const responses = client.chat(ticksWithoutEnd());
  for (const number of ["1", "2", "3"]) t.match(await responses.next(), { value: { number }, done: false });
  await responses.return(undefined);
  await feed.idle();
});

t.test("the 64-bit integers of a stream are bigints where the table says so", async (t) => {
  const large = 2n ** 63n - 1n;
  const sent = await collect(client.chatInt64([{ number: large }, { number: "-1" }]));
  t.strictSame(
    sent.map(({ number }) => number),
    [large, -1n],
  );
  const counted = await collect(client.countInt64({ messages: 2 }));
  t.strictSame(
    counted.map(({ number }) => typeof number),
    ["bigint", "bigint"],
  );
});

t.test("a stream that fails delivers its messages first", async (t) => {
  const ticks: Tick[] = [];
  const failed = { name: "PorticoError", Id: "feed", Code: 404, Detail: "as told" };
  await t.rejects(collect(client.count({ messages: 2, code: 5 }), ticks), failed as unknown as Error);
  t.equal(ticks.length, 2);
});

t.test("raw bytes arrive in chunks", async (t) => {
  const chunks = await collect(client.chunks({ contentType: "image/png", data: new Uint8Array([1, 2, 3]) }));
  t.ok(chunks.every(({ contentType }) => contentType === "image/png"));
  t.same(Buffer.concat(chunks.map(({ data }) => data)), Buffer.from([1, 2, 3]));
});

t.test("a deadline, a signal, and leaving the loop over the responses end the call", async (t) => {
  const late = { name: "PorticoError", Code: 504 };
  await t.rejects(collect(client.count({ messages: 1, hang: true }, { timeout: 300 })), late as unknown as Error);
  await t.rejects(collect(client.chat(ticksWithoutEnd(), { timeout: 300 })), late as unknown as Error);
  const controller = new AbortController();
  const reading = collect(client.count({ messages: 1, hang: true }, { signal: controller.signal }));
  await until(() => feed.open > 0);
  controller.abort(new Error("enough"));
  await t.rejects(reading, { message: "enough" });
  for await (const _ of client.count({ messages: 0 })) break;
  await feed.idle();
});

t.test("messages are sent no faster than the service reads them", async (t) => {
  let sent = 0;
  async function* counted(): AsyncGenerator<Tick> {
    for await (const tick of ticksWithoutEnd("x".repeat(64 * 1024))) {
      sent++;
      yield tick;
    }
  }
  const controller = new AbortController();
  const stalled = client.stall(counted(), { signal: controller.signal });
  await until(() => feed.open > 0);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  t.ok(sent < 512, `${sent} messages of 64 KiB`); // A slow machine sends fewer.
  controller.abort(new Error("enough"));
  await t.rejects(stalled, { message: "enough" });
});

t.test("a deleted rule ends the streams that it granted, with 401", async (t) => {
  const nobody = new Client({ url, token: "" }).feed;
  const responses = nobody.chat(oneTick());
  t.match(await responses.next(), { done: false });
  await post(handler, "/v1/auth/Rules/Delete", { id: "default" }, token);
  const Detail = "Unauthorized call made to feed:Feed.Chat";
  const refused = { name: "PorticoError", Id: "feed", Code: 401, Detail, Status: "Unauthorized" };
  await t.rejects(collect(responses), refused as unknown as Error);
  await t.rejects(collect(nobody.chat([{}])), refused as unknown as Error);
});
