// In the dialects with one message per body, bodies of requests may be compressed (RFC 9110 §8.4),
// up to a limit.
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { connect } from "node:http2";
import { json, text } from "node:stream/consumers";
import zlib from "node:zlib";
import t from "tap";
import { decompressQuery } from "../../../gateway/dialects/rpc/compression.js";
import { Code } from "../../../src/errors.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";
import { HTTP_VERSIONS, httpClient } from "../../support/http-client.js";
import { until } from "../../support/until.js";
import { deploy } from "../deployment.js";
import { createRelay } from "./relay.js";

const MAX = 256 * 1024;
const budget = new MemoryBudget({ limit: 16 * MAX });
const it = await deploy(t.testdir(), {
  flags: { lease: "60s", maxBody: String(MAX) },
  bound: true,
  budget,
  services: [createRelay()],
});
t.teardown(() => it.close());

interface Sent {
  readonly path?: string;
  readonly coding: string;
  readonly body: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly text?: string; readonly Detail?: string; readonly error?: object };
}

async function send({ path = "/relay/Call", coding, body, headers = {} }: Sent): Promise<Answer> {
  const coded = { "content-type": "application/json", "content-encoding": coding, ...headers };
  const outgoing = request({ port: it.gateway.address.port, path, method: "POST", headers: coded, agent: false });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const { statusCode: status = 0 } = response;
  return { status, headers: response.headers, body: (await json(response)) as Answer["body"] };
}

const note = (text: string): Buffer => Buffer.from(JSON.stringify({ text }));

const COMPRESS = { gzip: zlib.gzipSync, "x-gzip": zlib.gzipSync, GZIP: zlib.gzipSync, br: zlib.brotliCompressSync };

t.test("each coding, in each dialect", async (t) => {
  const texts = ["short", "a".repeat(MAX - 20)];
  for (const [coding, compress] of Object.entries(COMPRESS)) {
    for (const path of ["/relay/Call", "/bound/relay.Relay/Call"]) {
      for (const text of texts) {
        const { status, body } = await send({ path, coding, body: compress(note(text)) });
        t.equal(status, 200, `${coding} of ${text.length} at ${path}`);
        t.ok(body.text === text);
      }
    }
  }
  const tool = { jsonrpc: "2.0", id: 1, method: "ping" };
  const { status, body } = await send({ path: "/mcp", coding: "gzip", body: zlib.gzipSync(JSON.stringify(tool)) });
  t.match({ status, body }, { status: 200, body: { result: {} } });
});

t.test("identity means no coding", async (t) => {
  t.match(await send({ coding: "identity", body: note("a") }), { status: 200, body: { text: "a" } });
});

t.test("a body that is too large when decompressed is 413, however small it is compressed", async (t) => {
  for (const text of ["a".repeat(MAX), "a".repeat(8 * 1024 ** 2)]) {
    for (const coding of ["gzip", "br"] as const) {
      const { status, body } = await send({ coding, body: COMPRESS[coding](note(text)) });
      t.equal(status, 413);
      t.equal(body.Detail, `The body must not be larger than ${MAX} bytes, decompressed`);
    }
  }
});

t.test("a body that is not in its declared coding is 400", async (t) => {
  const whole = zlib.gzipSync(note("a".repeat(100)));
  for (const body of [
    whole.subarray(0, -1),
    Buffer.concat([whole, Buffer.from("more")]),
    Buffer.concat([whole, Buffer.alloc(4)]),
    note("a"),
  ]) {
    const response = await send({ coding: "gzip", body });
    t.match(response, { status: 400, body: { Detail: "The body is not gzip, as its Content-Encoding says" } });
  }
});

t.test("an unknown coding is 415, with the known codings", async (t) => {
  for (const coding of ["compress", "gzip, br", '"gzip"']) {
    const { status, headers, body } = await send({ coding, body: note("a") });
    t.equal(status, 415, coding);
    t.match(headers["accept-encoding"], /^(?:zstd, )?br, gzip$/);
    t.match(body.Detail, /^The Content-Encoding .* is not known here; known are (?:zstd, )?br, gzip$/);
  }
});

t.test(
  "messages of a stream that are large when decompressed are passed on in order, followed by the end",
  async (t) => {
    /** A google.api.HttpBody of 100 KiB. */
    const large = Buffer.concat([Buffer.from([0x12, 0x80, 0xa0, 0x06]), Buffer.alloc(100 * 1024)]);
    const envelope = (flag: number, bytes: Buffer): Buffer => {
      const prefix = Buffer.from([flag, 0, 0, 0, 0]);
      prefix.writeUInt32BE(bytes.length, 1);
      return Buffer.concat([prefix, bytes]);
    };
    const compressed = envelope(1, zlib.gzipSync(large));
    const headers = { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip", expect: "100-continue" };
    const options = { port: it.gateway.address.port, path: "/relay.Relay/Take", method: "POST", headers, agent: false };
    for (const messages of [[compressed, envelope(0, large), compressed], [compressed]]) {
      const outgoing = request(options);
      outgoing.flushHeaders();
      await once(outgoing, "continue");
      outgoing.end(Buffer.concat(messages));
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      const answer = await text(response);
      t.match(answer, `${messages.length * large.length}`);
      t.match(answer, /grpc-status: ?0/);
    }
  },
);

t.test("an upload that is passed on in chunks must not be compressed", async (t) => {
  const body = zlib.gzipSync("some bytes");
  for (const path of ["/relay/Take", "/bound/relay.Relay/Take"]) {
    const response = await send({ path, coding: "gzip", body, headers: { "content-type": "text/plain" } });
    t.match(response, { status: 415, headers: { "accept-encoding": "identity" } });
  }
});

const COUNTED = [
  {
    dialect: "JSON",
    path: "/relay/Call",
    type: "application/json",
    coding: "content-encoding",
    flag: undefined,
    answered: /aaaa/,
  },
  {
    dialect: "gRPC-Web",
    path: "/relay.Relay/Call",
    type: "application/grpc-web+json",
    coding: "grpc-encoding",
    flag: 1,
    answered: /grpc-status: ?0/,
  },
];
for (const { dialect, path, type, coding, flag, answered } of COUNTED) {
  t.test(`the decompressed body of ${dialect} counts in the memory budget`, async (t) => {
    for (const version of HTTP_VERSIONS) {
      const client = httpClient(t, version, it.gateway.address);
      const compressed = zlib.gzipSync(note("a".repeat(100_000)));
      const body = flag === undefined ? compressed : enveloped(flag, compressed);
      const sent = { method: "POST", path, headers: { "content-type": type, [coding]: "gzip" }, body };
      const before = budget.reserved;
      // Other connections reserve so much that one connection cannot reserve the largest size of a
      // decompressed body.
      const others = [budget.openUpstream(), budget.openUpstream()];
      for (const [index, other] of others.entries()) t.ok(other.tryReserve((index === 0 ? 8 : 4) * MAX));
      t.match(await client.send(sent), { body: /Too much is waiting/ }, version);
      for (const other of others) other.close();
      t.match(await client.send(sent), { status: 200, body: answered });
      const what = () => `the release of ${budget.reserved - before} bytes`;
      await until(() => budget.reserved === before, { what });
    }
  });
}

t.test("the decompressed body does not count any more while the client reads the response", async (t) => {
  // A client that takes one byte of the response.
  const session = connect(`http://127.0.0.1:${it.gateway.address.port}`, { settings: { initialWindowSize: 1 } });
  t.teardown(() => session.destroy());
  const before = budget.reserved;
  const headers = { ":method": "POST", ":path": "/relay/Call", "content-type": "application/json" };
  const stream = session.request({ ...headers, "content-encoding": "gzip" });
  stream.end(zlib.gzipSync(note("a".repeat(100_000))));
  await once(stream, "response");
  const held = (): number => budget.reserved - before;
  t.ok(held() > 90_000 && held() < 150_000, `${held()} bytes for a response of 100 kB`);
});

/** A message of gRPC-Web in its envelope, compressed or not. */
function enveloped(flag: number, message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

t.test("a compressed message in an envelope is decompressed up to the limit", async (t) => {
  const client = httpClient(t, "HTTP/1.1", it.gateway.address);
  const call = (body: Buffer) => {
    const headers = { "content-type": "application/grpc-web+json", "grpc-encoding": "gzip" };
    return client.send({ method: "POST", path: "/relay.Relay/Call", headers, body });
  };
  const large = zlib.gzipSync(note("a".repeat(MAX - 20)));
  t.match(await call(enveloped(1, large)), { status: 200, body: /grpc-status: ?0/ });
  const outcomes: [body: Buffer, status: number][] = [
    [enveloped(1, zlib.gzipSync(note("a".repeat(MAX)))), Code.RESOURCE_EXHAUSTED],
    [enveloped(1, Buffer.from("not gzip")), Code.INVALID_ARGUMENT],
    [enveloped(1, large).subarray(0, -1), Code.INVALID_ARGUMENT],
    [Buffer.concat([enveloped(1, large), enveloped(1, large)]), Code.UNIMPLEMENTED],
    [enveloped(2, large), Code.INTERNAL],
  ];
  for (const [body, code] of outcomes) {
    t.match(await call(body), { body: new RegExp(`grpc-status: ?${code}\\b`) }, `${code}`);
  }
});

t.test("a compressed message in a query is decompressed up to a lower limit", (t) => {
  const decompress = (bytes: number) =>
    decompressQuery("br", zlib.brotliCompressSync(Buffer.alloc(bytes)), 4 * 1024 ** 2);
  t.equal(decompress(256 * 1024).length, 256 * 1024);
  t.throws(() => decompress(256 * 1024 + 1), { code: Code.RESOURCE_EXHAUSTED });
  t.end();
});
