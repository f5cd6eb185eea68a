// In the dialects with one message per body, responses are compressed if the client accepts it (RFC
// 9110 §8.4 and §12.5.3).
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { buffer } from "node:stream/consumers";
import zlib from "node:zlib";
import t from "tap";
import type { Route } from "../../../gateway/catalog/target.js";
import { envelope } from "../../../gateway/dialects/rpc/protocol.js";
import { deploy, login } from "../deployment.js";
import { createRelay } from "./relay.js";

const it = await deploy(t.testdir(), {
  flags: { lease: "60s", maxBody: "1MiB" },
  bound: true,
  services: [createRelay(["etag"])],
});
t.teardown(() => it.close());
const admin = await login(it.handler, "admin");

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function ask(
  path: string,
  { method = "POST", headers = {}, message }: { method?: string; headers?: object; message?: object },
): Promise<Answer> {
  const typed = message === undefined ? {} : { "content-type": "application/json" };
  return send(path, { ...typed, ...headers }, message && JSON.stringify(message), method);
}

async function send(
  path: string,
  headers: OutgoingHttpHeaders,
  body: string | Uint8Array | undefined,
  method = "POST",
): Promise<Answer> {
  const { port } = it.gateway.address;
  const outgoing = request({ port, path, method, headers, agent: false });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

const LONG = "a".repeat(2_000);
const CALL = "/relay/Call";
const gzip = { "accept-encoding": "gzip" };

t.test("a response over 1 KiB, in each dialect", async (t) => {
  const connect = { ...gzip, "connect-protocol-version": "1" };
  const paths: [path: string, headers: object][] = [
    [CALL, gzip],
    ["/bound/relay.Relay/Call", gzip],
    ["/relay.Relay/Call", connect],
  ];
  for (const [path, headers] of paths) {
    const response = await ask(path, { headers, message: { text: LONG } });
    t.match(response, { status: 200, headers: { "content-encoding": "gzip", vary: "Accept-Encoding" } }, path);
    t.equal(response.headers["content-length"], String(response.body.length));
    t.ok(JSON.parse(zlib.gunzipSync(response.body).toString()).text === LONG);
  }
});

t.test("a large response, which is compressed while other work continues", async (t) => {
  const text = "some words ".repeat(50_000);
  const { headers, body } = await ask(CALL, { headers: { "accept-encoding": "br" }, message: { text } });
  t.equal(headers["content-encoding"], "br");
  t.ok(JSON.parse(zlib.brotliDecompressSync(body).toString()).text === text);
});

t.test("the response to HEAD has the headers of the response to GET", async (t) => {
  const path = `/probe/Probe/Call?text=${LONG}`;
  const get = await ask(path, { method: "GET", headers: gzip });
  const head = await ask(path, { method: "HEAD", headers: gzip });
  t.match(head, { status: 200, headers: { "content-encoding": "gzip", "content-length": String(get.body.length) } });
  t.equal(head.body.length, 0);
});

t.test("a compressed message of gRPC is encoded only once", async (t) => {
  const { response } = (it.catalog.routes.find("/relay/call") as Route).target;
  const { writeBody } = response;
  let encoded = 0;
  response.writeBody = (wire) => {
    encoded++;
    return writeBody.call(response, wire);
  };
  t.teardown(() => {
    response.writeBody = writeBody;
  });
  const types = {
    "content-type": "application/grpc-web+json",
    "grpc-encoding": "gzip",
    "grpc-accept-encoding": "gzip",
  };
  const answer = await send("/relay.Relay/Call", types, envelope(0, Buffer.from(JSON.stringify({ text: LONG }))));
  t.match(answer, { status: 200, headers: { "grpc-encoding": "gzip" } });
  const message = answer.body.subarray(5, 5 + answer.body.readUInt32BE(1));
  t.ok(JSON.parse(zlib.gunzipSync(message).toString()).text === LONG);
  t.equal(encoded, 1);
});

t.test("not compressed", async (t) => {
  const cases: {
    readonly title: string;
    readonly path?: string;
    readonly headers?: object;
    readonly message: object;
    /** Whether the response says that it could have been compressed. */
    readonly varies?: boolean;
  }[] = [
    { title: "a small answer", message: { text: "a" } },
    { title: "for a client that names nothing", headers: {}, message: { text: LONG }, varies: true },
    {
      title: "in an unknown coding",
      headers: { "accept-encoding": "deflate" },
      message: { text: LONG },
      varies: true,
    },
    {
      title: "for a client that refuses it",
      headers: { "accept-encoding": "gzip;q=0" },
      message: { text: LONG },
      varies: true,
    },
    {
      title: "if the client wants no transformation",
      headers: { ...gzip, "cache-control": "no-transform" },
      message: { text: LONG },
      varies: true,
    },
    { title: "an image", path: "/relay/Raw", message: { text: LONG, type: "image/png" } },
    { title: "bytes of no type", path: "/relay/Raw", message: { text: LONG } },
    { title: "a secret", path: "/relay/Hide", message: { text: LONG } },
    { title: "a stream", path: "/relay/Twice", message: { text: LONG } },
    { title: "an error", message: { text: LONG, code: 3 } },
  ];
  for (const { title, path = CALL, headers = gzip, message, varies = false } of cases) {
    const response = await ask(path, { headers, message });
    t.equal(response.headers["content-encoding"], undefined, title);
    t.equal(response.headers.vary, varies ? "Accept-Encoding" : undefined);
    t.ok(response.body.includes("a"));
  }
});

t.test("text of a service is compressed, whatever the parameters of its content type are", async (t) => {
  for (const type of ["text/html; charset=utf-8", "image/svg+xml", "application/ld+json", "application/xml"]) {
    const { headers, body } = await ask("/relay/Raw", { headers: gzip, message: { text: LONG, type } });
    t.match(headers, { "content-encoding": "gzip", "content-type": type });
    t.ok(zlib.gunzipSync(body).toString() === LONG);
  }
});

t.test("a strong ETag becomes a weak one", async (t) => {
  for (const [etag, sent] of [
    ['"abc"', 'W/"abc"'],
    ['W/"abc"', 'W/"abc"'],
  ]) {
    const message = { text: LONG, headers: [{ name: "etag", value: etag }] };
    t.equal((await ask(CALL, { headers: gzip, message })).headers.etag, sent);
    t.equal((await ask(CALL, { headers: {}, message })).headers.etag, etag);
  }
});

t.test("Portico's documents, and lists of endpoints for agents, are compressed", async (t) => {
  const headers = { ...gzip, authorization: `Bearer ${admin}` };
  const document = await ask("/openapi/probe.json", { method: "GET", headers });
  t.equal(document.headers["content-encoding"], "gzip");
  t.match(JSON.parse(zlib.gunzipSync(document.body).toString()), { openapi: /^3/ });
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const tools = await ask("/mcp", { headers: { ...headers, "mcp-protocol-version": "2025-06-18" }, message });
  t.equal(tools.headers["content-encoding"], "gzip");
  t.match(JSON.parse(zlib.gunzipSync(tools.body).toString()), { result: { tools: [] } });
});

t.test("secrets of accounts are not compressed", async (t) => {
  const resources = Array.from({ length: 60 }, (_, index) => `service:probe-with-a-long-name-${index}:*`);
  const headers = { ...gzip, authorization: `Bearer ${admin}` };
  const message = { name: "long", resources };
  const response = await ask("/v1/auth/Keys/Create", { headers, message });
  t.equal(response.status, 200, response.body.toString());
  t.equal(response.headers["content-encoding"], undefined);
  t.ok(response.body.length > 1024);
});
