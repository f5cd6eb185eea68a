// A tool whose endpoint returns a stream: progress for each message, and a result with the first
// messages.
import t from "tap";
import type { BodyStream } from "../../../../gateway/http/body.js";
import { HttpError } from "../../../../gateway/http/errors.js";
import { readHeaders } from "../../../../gateway/http/headers.js";
import type { GatewayRequest } from "../../../../gateway/http/message.js";
import { open, type Scene, scene, until } from "../json/streams/client.js";

const scenery: Scene = await scene(t);
const OLD = { accept: "application/json, text/event-stream" };

const call = (name: string, args: object, _meta: object = {}, headers: Record<string, string> = OLD) =>
  open(scenery, "/mcp", {
    headers,
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta } },
  });

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects.
const eventsOf = (text: string): any[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(String(data)));

t.test("the messages, as progress and in the result", async (t) => {
  const { status, headers, text } = await call("feed.Count", { messages: "3" }, { progressToken: "p" });
  t.equal(status, 200);
  t.equal(headers["content-type"], "text/event-stream");
  const events = eventsOf(await text());
  t.match(
    events.slice(0, -1),
    [1, 2, 3].map((progress) => ({ method: "notifications/progress", params: { progressToken: "p", progress } })),
  );
  const { result } = events.at(-1);
  t.match(result.structuredContent, {
    messages: [{ number: "1" }, { number: "2" }, { number: "3" }],
    truncated: false,
  });
  t.strictSame(JSON.parse(result.content[0].text), result.structuredContent);
});

t.test("no progress for a client that asks for none", async (t) => {
  const { text } = await call("feed.Count", { messages: "3" });
  t.equal(eventsOf(await text()).length, 1);
});

t.test("a stream without an end: the result has the first thousand messages", async (t) => {
  const { text } = await call("feed.Count", { messages: "1000000000" });
  const [{ result }] = eventsOf(await text());
  t.equal(result.structuredContent.messages.length, 1000);
  t.equal(result.structuredContent.truncated, true);
  t.equal(result.isError, undefined);
});

t.test("long messages: at most 256 KiB of JSON", async (t) => {
  const { text } = await call("feed.Count", { messages: "1000000000", padding: 60_000 });
  const [{ result }] = eventsOf(await text());
  t.equal(result.structuredContent.messages.length, 4);
  t.equal(result.structuredContent.truncated, true);
});

t.test("a stream that fails after its first message", async (t) => {
  const { text } = await call("feed.Count", { messages: "1", code: 5 });
  const [{ result }] = eventsOf(await text());
  t.equal(result.isError, true);
  t.match(JSON.parse(result.content[0].text), { Code: 404 });
});

t.test("a stream that fails at once", async (t) => {
  const { status, text } = await call("feed.Count", { messages: "0", code: 5 });
  t.equal(status, 200);
  const body = await text();
  const { result } = JSON.parse(body);
  t.equal(result.isError, true);
});

t.test("a client that accepts no event stream gets an error", async (t) => {
  const { status, text } = await call("feed.Count", {}, {}, { accept: "application/json" });
  t.equal(status, 406);
  t.match(JSON.parse(await text()).error, { code: 406 });
});

t.test("an endpoint that takes a stream is no tool", async (t) => {
  const { text } = await call("feed.Add", {});
  t.match(JSON.parse(await text()).error, { code: -32602 });
});

const STATELESS = {
  ...{ accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28" },
  ...{ "mcp-method": "tools/call", "mcp-name": "feed.Count" },
};
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  progressToken: 1,
};

t.test("in the revision without sessions, a client that disconnects cancels the call", async (t) => {
  const { response } = await call("feed.Count", { messages: "1", hang: true }, META, STATELESS);
  await until(response, /progress/);
  response.destroy();
  await scenery.feed.idle();
  t.pass("it was cancelled");
});

t.test("in earlier revisions, the call of a client that disconnects runs to its end", async (t) => {
  const produced = scenery.feed.produced;
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "feed.Count", arguments: { messages: 900, padding: 100 } },
  };
  const headers = ["Host", "portico.test", "Content-Type", "application/json", "Accept", "text/event-stream"];
  let abort = (_reason: HttpError): void => {};
  const request: GatewayRequest = {
    ...{
      method: "POST",
      target: "/mcp",
      rawHeaders: headers,
      headers: readHeaders(headers),
      remoteAddress: "192.0.2.1",
    },
    body: () => [Buffer.from(JSON.stringify(body))],
    arrivedBody: () => t.fail("the guard decides on its sender first") as never,
    chunks: () => t.fail("its body is read at once") as never,
    tryReserveResponse: () => true,
    tryReserveBody: () => true,
    onAbort(listener) {
      abort = listener;
    },
  };
  const response = await scenery.handler(request);
  const stream = response.body as BodyStream;
  const never: string[] = [];
  // The client reads nothing, and then disconnects.
  stream.open({ write: () => false, end: () => never.push("end"), abort: () => never.push("abort") });
  abort(new HttpError(499, "The client has gone"));
  await scenery.feed.idle();
  t.equal(scenery.feed.produced - produced, 900);
  t.strictSame(never, [], "and nothing more is written");
});
