// Endpoints of the built-in services take only small requests, in every dialect. A body that is too
// large is rejected before it has arrived.
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import t, { type Test } from "tap";
import { Code } from "../../../src/errors.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { unary } from "../../../src/rpc/client.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { listenHttp2 } from "../../http2/serve.js";
import { dispatcherOf } from "../../rpc/serve.js";
import { open } from "../../services/auth/open.js";
import { deploy } from "../deployment.js";

const { gateway, close } = await deploy(t.testdir());
t.teardown(close);
const origin = `http://127.0.0.1:${gateway.address.port}`;
const LOGIN = "/portico.auth.v1.Auth/Login";
const JSON_TYPE = "application/json";

/** A login whose message has this many bytes. */
const login = (bytes: number): string => JSON.stringify({ account: "", password: "" }).padEnd(bytes);
const enveloped = (text: string): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(text.length, 1);
  return Buffer.concat([prefix, Buffer.from(text)]);
};

const DIALECTS: readonly (readonly [
  title: string,
  path: string,
  headers: Record<string, string>,
  body: (text: string) => string | Buffer,
])[] = [
  ["JSON", "/auth/login", { "content-type": JSON_TYPE }, (text) => text],
  ["Connect", LOGIN, { "content-type": JSON_TYPE, "connect-protocol-version": "1" }, (text) => text],
  ["gRPC-Web", LOGIN, { "content-type": "application/grpc-web+json" }, enveloped],
  [
    "gRPC-Web in base64",
    LOGIN,
    { "content-type": "application/grpc-web-text+json" },
    (text) => enveloped(text).toString("base64"),
  ],
];

for (const [title, path, headers, written] of DIALECTS) {
  t.test(`${title}: a login of 16 KiB is read, one byte more is rejected`, async (t) => {
    const send = async (bytes: number) => {
      const response = await fetch(origin + path, { method: "POST", headers, body: written(login(bytes)) });
      const code = response.headers.get("grpc-status");
      return { status: response.status, code, text: await response.text() };
    };
    const refused = await send(16 * 1024 + 1);
    const text = title.endsWith("base64") ? Buffer.from(refused.text, "base64").toString() : refused.text;
    if (title.startsWith("gRPC")) t.match(refused.code ?? text, /^8$|grpc-status: ?8/, "RESOURCE_EXHAUSTED");
    else t.equal(refused.status, 413, refused.text);
    const read = await send(16 * 1024);
    t.not(read.status, 413);
    t.notMatch(read.text, /larger/);
  });
}

t.test("gRPC: a login that is too large is RESOURCE_EXHAUSTED", async (t) => {
  const session = connectHttp2(origin);
  t.teardown(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": LOGIN,
    "content-type": "application/grpc+json",
    te: "trailers",
  });
  let status: unknown;
  stream.on("response", (headers) => (status = headers["grpc-status"]));
  stream.on("trailers", (trailers) => (status ??= trailers["grpc-status"]));
  stream.end(enveloped(login(16 * 1024 + 1)));
  stream.resume();
  await once(stream, "close");
  t.equal(Number(status), Code.RESOURCE_EXHAUSTED);
});

t.test("the gRPC port of an authority rejects it too", async (t) => {
  const { authority } = await open(t);
  const { address } = await listenHttp2(t, dispatcherOf([authority.service]));
  const channel = new Http2Channel(address);
  t.teardown(() => channel.close());
  const call = (length: number) =>
    unary(channel, AuthService.login, { account: "", password: "x".repeat(length), namespace: "" });
  await t.rejects(call(20_000), { code: Code.RESOURCE_EXHAUSTED, message: /16384/ });
  await t.rejects(call(10_000), { code: Code.UNAUTHENTICATED });
});

/** The status line of the response to a request whose body is sent only in part. */
async function statusOf(t: Test, head: string, body: Buffer): Promise<string> {
  const socket = connect(gateway.address.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(`POST ${head}\r\nHost: x\r\nContent-Type: application/json\r\n`);
  socket.write(body);
  const [response] = await once(socket, "data");
  return String(response).split("\r\n", 1)[0] as string;
}

t.test("a body is rejected by its announced length, a chunked body when it becomes too long", async (t) => {
  t.match(await statusOf(t, "/auth/login HTTP/1.1", Buffer.from("Content-Length: 4000000\r\n\r\n{")), / 413 /);
  const chunk = Buffer.concat([Buffer.from("Transfer-Encoding: chunked\r\n\r\n8000\r\n"), Buffer.alloc(0x7fff, " ")]);
  t.match(await statusOf(t, "/auth/login HTTP/1.1", chunk), / 413 /);
});

t.test("an MCP message that calls no tool must be small too", async (t) => {
  const headers = { "content-type": JSON_TYPE, accept: JSON_TYPE, "mcp-method": "tools/list" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }).padEnd(64 * 1024 + 1);
  t.equal((await fetch(`${origin}/mcp`, { method: "POST", headers, body })).status, 413);
});

t.test("other services take bodies up to the limit of the port", async (t) => {
  const body = JSON.stringify({ name: "Ada" }).padEnd(1_000_000);
  const response = await fetch(`${origin}/helloworld/call`, {
    method: "POST",
    headers: { "content-type": JSON_TYPE },
    body,
  });
  t.equal(response.status, 200);
});
