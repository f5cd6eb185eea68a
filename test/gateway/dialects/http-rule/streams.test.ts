// Streams at bindings' paths, over real connections: responses as NDJSON or events, and the body of
// one request as an upload.
import { once } from "node:events";
import { type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";
import t from "tap";
import { deploy } from "../../deployment.js";
import { createLibrary } from "./library.js";

const library = createLibrary();
const { gateway, close } = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [library] });
t.teardown(close);

interface Asked {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

async function ask(path: string, { method = "GET", headers = {}, body }: Asked = {}) {
  const outgoing = request({ host: "127.0.0.1", port: gateway.address.port, path, method, headers, agent: false });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const JSON_BODY = { "content-type": "application/json" };

t.test("a stream of responses is NDJSON", async (t) => {
  const { status, headers, body } = await ask("/lib/shelves/1/list?shelf=2");
  t.equal(status, 200);
  t.equal(headers["content-type"], "application/x-ndjson");
  const lines = body
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  t.equal(lines.length, 3);
  for (const line of lines) t.match(line, { name: "shelves/1", shelf: "2" });
});

t.test("a stream of responses is events if the client asks for them", async (t) => {
  const { headers, body } = await ask("/lib/shelves/1/list", { headers: { accept: "text/event-stream" } });
  t.match(headers["content-type"], /^text\/event-stream/);
  t.equal(body.match(/^data: \{"name":"shelves\/1"/gm)?.length, 3);
});

t.test("each response of a stream is the field that the binding names", async (t) => {
  const { body } = await ask("/lib/shelves/1/tags?tags=a&tags=b");
  t.equal(body.trim(), '["a","b"]\n["a","b"]\n["a","b"]');
});

t.test("a stream whose request is a body", async (t) => {
  const { body } = await ask("/lib/list", { method: "POST", headers: JSON_BODY, body: '{"shelf":5}' });
  t.equal(body.match(/"shelf":"5"/g)?.length, 3);
});

t.test("a stream of raw bytes in a field is one body", async (t) => {
  const headers = { "content-type": "text/css" };
  const response = await ask("/lib/download/n", { method: "POST", headers, body: "ab" });
  t.match(response, { status: 200, headers: { "content-type": "text/css" }, body: "ababab" });
});

t.test("each chunk of an upload has the fields of path and query", async (t) => {
  const headers = { "content-type": "text/plain" };
  const { status, body } = await ask("/lib/upload/n/b1?shelf=4", { method: "PUT", headers, body: "some bytes" });
  t.equal(status, 200);
  t.match(JSON.parse(body), { name: "n", shelf: "4", book: { id: "b1" }, file: { contentType: "text/plain" } });
  t.equal(Buffer.from(JSON.parse(body).file.data, "base64").toString(), "some bytes");
});

t.test("a stream of messages goes over a WebSocket at the path of the endpoint", async (t) => {
  for (const [method, path, where] of [
    ["POST", "/lib/talk", "/library/Talk"],
    ["POST", "/lib/upload", "/library/Upload"],
  ] as const) {
    const { status, body } = await ask(path, { method, headers: JSON_BODY, body: "{}" });
    t.equal(status, 426);
    t.match(JSON.parse(body).Detail, new RegExp(`open a WebSocket at ${where}$`));
  }
  const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
  const headers = { ...upgrade, "sec-websocket-key": Buffer.alloc(16).toString("base64") };
  t.match(await ask("/lib/shelves/1", { headers }), { status: 400, body: /No WebSocket is opened at this path/ });
});
