// The HTTP statuses that the options of a service set, with a server of grpc-js over real sockets.
// Codes that gRPC does not define pass with message and details.
import { once } from "node:events";
import { connect } from "node:http2";
import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Metadata, type ServerUnaryCall, type ServerWritableStream, type sendUnaryData } from "@grpc/grpc-js";
import t from "tap";
import { WebSocket } from "ws";
import { readDescriptors } from "../../../src/contract/endpoint.js";
import { encodeDetails } from "../../../src/rpc/status.js";
import { BYTES } from "../../rpc/raw-service.js";
import { withBindings } from "../../support/bound.js";
import { buildAnnotated } from "../../support/descriptors.js";
import { configured, serveByGrpcJs } from "../../support/grpc-js-server.js";
import { until } from "../../support/until.js";
import { ask as call, deploy, login } from "../deployment.js";

const descriptors = withBindings(buildAnnotated("test/gateway/dialects", "relay.proto"));
const Note = readDescriptors(descriptors).getMessage("relay.Note") as DescMessage;

interface Pair {
  readonly name: string;
  readonly value: string;
}

/** A message of relay.proto. The server ends with its code, or returns its text. */
interface Fields {
  readonly text?: string;
  readonly code?: number;
  readonly headers?: readonly Pair[];
  readonly trailers?: readonly Pair[];
}

const method = (name: string, requestStream = false, responseStream = false) => ({
  ...BYTES,
  path: `/relay.Relay/${name}`,
  requestStream,
  responseStream,
});
const RELAY = { call: method("Call"), twice: method("Twice", false, true), take: method("Take", true) };

/** `reason` and `domain` of ErrorInfo, and `detail` of DebugInfo, which no caller may see. */
const DETAILS = [
  { typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value: Buffer.from("\n\x05TUPLE\x12\x03fga") },
  { typeUrl: "type.googleapis.com/google.rpc.DebugInfo", value: Buffer.from("\x12\x05stack") },
];

function metadataOf(pairs: readonly Pair[] = []): Metadata {
  const metadata = new Metadata();
  for (const { name, value } of pairs) metadata.add(name, value);
  return metadata;
}

function noteOf(bytes: Buffer): Fields {
  return fromBinary(Note, bytes) as Fields;
}

const textOf = (text = ""): Buffer => Buffer.from(toBinary(Note, create(Note, { text } as Record<string, unknown>)));

/** The status with which a call ends, with details. */
function failureOf({ code = 0, text = "", trailers }: Fields): object {
  const metadata = metadataOf(trailers);
  metadata.set("grpc-status-details-bin", encodeDetails({ code, message: text, details: DETAILS }));
  return { code, details: text, metadata };
}

const port = await serveByGrpcJs(t, RELAY, {
  call(call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>) {
    const note = noteOf(call.request);
    if (note.headers?.length) call.sendMetadata(metadataOf(note.headers));
    if (note.code) respond(failureOf(note) as never);
    else respond(null, textOf(note.text), metadataOf(note.trailers));
  },
  twice(call: ServerWritableStream<Buffer, Buffer>) {
    const note = noteOf(call.request);
    if (note.headers?.length) call.sendMetadata(metadataOf(note.headers));
    if (note.text !== "at once") call.write(textOf("one"));
    if (note.code) call.emit("error", failureOf(note));
    else call.end(metadataOf(note.trailers));
  },
  take(call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>) {
    call.on("data", () => {});
    call.on("end", () => respond(null, textOf("taken"), metadataOf([{ name: "x-http-code", value: "202" }])));
  },
});

const SERVICES: Record<string, Record<string, unknown>> = {
  plain: {},
  mapped: { status: ["2000-2999=400", "2001=418", "12=404", "16=401", "8=204"] },
  created: { status: ["0=201"] },
  silent: { status: ["0=204"] },
  chosen: { status: ["0=202", "5=410"], statusMetadata: "x-http-code" },
  listed: { statusMetadata: "x-http-code", metadata: ["x-http-code"] },
  shown: { showUnknown: true },
};

const external = Object.entries(SERVICES).map(([name, options]) =>
  configured(name, port, descriptors, { ...options, bindings: { prefix: `/rest/${name}` } }),
);
const it = await deploy(t.testdir(), { flags: { lease: "60s" }, external });
t.teardown(() => it.close());
const origin = `http://127.0.0.1:${it.gateway.address.port}`;
await until(() => Object.keys(SERVICES).every((name) => it.catalog.routes.find(`/${name}/Relay/Call`)));

interface OpenApi {
  readonly paths: Readonly<Record<string, { readonly post: { readonly responses: Record<string, object> } }>>;
}

const CODE = (value: string): Pair[] => [{ name: "x-http-code", value }];
const JSON_TYPE = { "content-type": "application/json" };

function ask(path: string, note: Fields, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(origin + path, { method: "POST", headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(note) });
}

interface Case {
  readonly title: string;
  readonly service: string;
  readonly sent: Fields;
  readonly status: number;
}

const CASES: readonly Case[] = [
  { title: "a code that gRPC does not define is 500", service: "plain", sent: { code: 2001 }, status: 500 },
  { title: "the largest code is 500", service: "plain", sent: { code: 2 ** 31 - 1 }, status: 500 },
  { title: "the first range with a code counts", service: "mapped", sent: { code: 2001 }, status: 400 },
  { title: "a code behind a range is 500", service: "mapped", sent: { code: 3000 }, status: 500 },
  { title: "a code of gRPC may have a status", service: "mapped", sent: { code: 12 }, status: 404 },
  { title: "a code of gRPC without a range has its usual status", service: "mapped", sent: { code: 5 }, status: 404 },
  { title: "a success is 200 where no range has the code 0", service: "mapped", sent: {}, status: 200 },
  { title: "a success may have a status", service: "created", sent: {}, status: 201 },
  { title: "an error is not affected by the status of a success", service: "created", sent: { code: 5 }, status: 404 },
  { title: "a status without content", service: "silent", sent: {}, status: 204 },
  { title: "an error with a status without content", service: "mapped", sent: { code: 8 }, status: 204 },
  { title: "headers of the service", service: "chosen", sent: { headers: CODE("299") }, status: 299 },
  { title: "trailers of the service", service: "chosen", sent: { trailers: CODE("226") }, status: 226 },
  {
    title: "headers win over trailers",
    service: "chosen",
    sent: { headers: CODE("207"), trailers: CODE("208") },
    status: 207,
  },
  {
    title: "metadata of an error wins over ranges",
    service: "chosen",
    sent: { code: 5, trailers: CODE("451") },
    status: 451,
  },
  { title: "headers of an error", service: "chosen", sent: { code: 9, headers: CODE("599") }, status: 599 },
  { title: "a service may choose 304", service: "chosen", sent: { headers: CODE("304") }, status: 304 },
  ...["199", "600", "0", "-1", "20", "2000", "abc", "", "200.5", "0x191", "1e2", "٢٠٠"].map((value) => ({
    title: `${JSON.stringify(value)} is ignored`,
    service: "chosen",
    sent: { text: "a", trailers: /^[ -~]*$/.test(value) ? CODE(value) : [] },
    status: 202,
  })),
  {
    title: "without the option the metadata has no effect",
    service: "plain",
    sent: { headers: CODE("201") },
    status: 200,
  },
];

const pathsOf = (service: string) => [`/${service}/Relay/Call`, `/rest/${service}/bound/relay.Relay/Call`];

for (const { title, service, sent, status } of CASES) {
  t.test(`${service}: ${title}`, async (t) => {
    for (const path of pathsOf(service)) {
      const response = await ask(path, { text: "odd", ...sent });
      t.equal(response.status, status, path);
      const body = await response.text();
      t.equal(response.headers.has("x-http-code"), false);
      t.equal(response.headers.has("retry-after"), false);
      if ([204, 205, 304].includes(status)) t.equal(body, "");
      else if (!sent.code) t.match(JSON.parse(body), { text: sent.text ?? "odd" });
      else {
        t.match(JSON.parse(body), { Code: status, Detail: "odd", Details: [{ reason: "TUPLE", domain: "fga" }] });
        t.notMatch(body, /DebugInfo|stack/);
      }
    }
  });
}

t.test("a status without content has no body, which most HTTP clients would hide", async (t) => {
  const headers = ["Content-Type", "application/json"];
  for (const [service, code] of [
    ["silent", 0],
    ["mapped", 8],
  ] as const) {
    for (const target of pathsOf(service)) {
      const sent = { method: "POST", target, headers, body: JSON.stringify({ code, text: "odd" }) };
      const { status, body, headers: received } = await call(it.handler, sent);
      t.same(
        { status, body, length: received["content-length"] },
        { status: 204, body: "", length: undefined },
        target,
      );
    }
  }
});

t.test("a status with a header of its own gets it", async (t) => {
  const response = await ask("/mapped/Relay/Call", { code: 16 });
  t.equal(response.status, 401);
  t.match(response.headers.get("www-authenticate"), /^Bearer resource_metadata="/);
});

t.test("the metadata is a header where the options list it", async (t) => {
  const response = await ask("/listed/Relay/Call", { headers: CODE("203") });
  t.equal(response.status, 203);
  t.equal(response.headers.get("x-http-code"), "203");
});

t.test("the response to an upload has the status", async (t) => {
  for (const [service, status] of Object.entries({ plain: 200, created: 201, silent: 204, chosen: 202 })) {
    const response = await fetch(`${origin}/${service}/Relay/Take`, { method: "POST", body: "bytes" });
    t.equal(response.status, status, service);
    t.equal(
      await response.text(),
      status === 204
        ? ""
        : JSON.stringify({ text: "taken", type: "", headers: [], trailers: [], code: 0, received: {} }),
    );
  }
});

const STREAMS: readonly Case[] = [
  { title: "an error before the first message", service: "mapped", sent: { text: "at once", code: 2001 }, status: 400 },
  {
    title: "an error with metadata",
    service: "chosen",
    sent: { text: "at once", code: 5, headers: CODE("451") },
    status: 451,
  },
  { title: "headers", service: "chosen", sent: { headers: CODE("206") }, status: 206 },
  { title: "a stream has content", service: "chosen", sent: { headers: CODE("204") }, status: 200 },
  { title: "the code of a stream is not known when it begins", service: "created", sent: {}, status: 200 },
];

for (const { title, service, sent, status } of STREAMS) {
  t.test(`a stream, ${title}`, async (t) => {
    const response = await ask(`/${service}/Relay/Twice`, sent);
    t.equal(response.status, status);
    const body = await response.text();
    if (sent.code) t.match(JSON.parse(body), { Code: status });
    else t.match(JSON.parse(body), { text: "one" });
  });
}

t.test("the error at the end of a stream names the status", async (t) => {
  const response = await ask("/mapped/Relay/Twice", { code: 2001, text: "odd" });
  t.equal(response.status, 200);
  const lines = (await response.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  t.match(lines, [{ text: "one" }, { error: { Code: 400, Detail: "odd", Details: [{ reason: "TUPLE" }] } }]);
});

t.test("a WebSocket closes with the status", async (t) => {
  const socket = new WebSocket(`${origin.replace("http", "ws")}/mapped/Relay/Twice`);
  socket.on("open", () => socket.send(JSON.stringify({ code: 2001, text: "odd" })));
  const [code, reason] = await once(socket, "close");
  t.same([code, `${reason}`], [4400, "odd"]);
});

/** Dialects in which a call ends with a code. The options about statuses do not concern them. */
const RPC: Record<
  string,
  { readonly type: string; readonly isFramed: boolean; readonly end: RegExp; readonly status: number }
> = {
  "gRPC-Web": {
    type: "application/grpc-web+json",
    isFramed: true,
    end: /grpc-status: 2001\r\ngrpc-message: odd\r\ngrpc-status-details-bin: CNEPEgNvZGQ/,
    status: 200,
  },
  Connect: {
    type: "application/json",
    isFramed: false,
    end: /^\{"code":"unknown","message":"odd","details":\[\{"type":"google.rpc.ErrorInfo"/,
    status: 500,
  },
};

/** Other dialects ignore it. */
const CONNECT = { "connect-protocol-version": "1" };

function framed(note: Fields): Buffer {
  const message = Buffer.from(JSON.stringify(note));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

for (const [name, { type, isFramed, end, status }] of Object.entries(RPC)) {
  t.test(`${name}: a code that gRPC does not define passes as it is`, async (t) => {
    for (const service of ["plain", "mapped"]) {
      const note = { code: 2001, text: "odd" };
      const body = isFramed ? framed(note) : JSON.stringify(note);
      const headers = { "content-type": type, "portico-service": service, ...CONNECT };
      const response = await fetch(`${origin}/relay.Relay/Call`, { method: "POST", headers, body });
      t.equal(response.status, status, service);
      const text = await response.text();
      t.match(text, end);
      t.notMatch(Buffer.from(text).toString("latin1"), /DebugInfo/);
    }
  });
}

t.test("gRPC: a code that gRPC does not define passes as it is", async (t) => {
  const session = connect(origin);
  t.teardown(() => session.destroy());
  const headers = { "content-type": "application/grpc+json", te: "trailers", "portico-service": "mapped" };
  for (const path of ["/relay.Relay/Call", "/relay.Relay/Twice"]) {
    const stream = session.request({ ":path": path, ":method": "POST", ...headers });
    const received: Record<string, unknown> = {};
    for (const event of ["response", "trailers"]) stream.on(event, (found) => Object.assign(received, found));
    stream.end(framed({ code: 2001, text: "odd" }));
    await once(stream.resume(), "close");
    t.match(received, { ":status": 200, "grpc-status": "2001", "grpc-message": "odd" }, path);
    t.match(Buffer.from(String(received["grpc-status-details-bin"]), "base64").toString("latin1"), /ErrorInfo.*TUPLE/s);
  }
});

t.test("success in gRPC and Connect is 200", async (t) => {
  for (const [type, body] of [
    ["application/json", "{}"],
    ["application/grpc-web+json", framed({})],
  ] as const) {
    const headers = { "content-type": type, "portico-service": "created", ...CONNECT };
    const response = await fetch(`${origin}/relay.Relay/Call`, { method: "POST", headers, body });
    t.equal(response.status, 200, type);
  }
});

t.test("the message of UNKNOWN is shown where the options say so, and never google.rpc.DebugInfo", async (t) => {
  for (const [service, Detail] of Object.entries({ plain: "Internal error", mapped: "Internal error", shown: "odd" })) {
    for (const path of pathsOf(service)) {
      const body = await (await ask(path, { code: 2, text: "odd\n  at line 7" })).text();
      t.match(JSON.parse(body), { Code: 500, Detail });
      t.notMatch(body, /DebugInfo|line 7/);
    }
  }
});

t.test("a status that is none is logged once", async (t) => {
  const about = it.logged.filter(({ msg }) => /HTTP status is ignored/.test(String(msg)));
  t.match(about, [{ level: "warn", service: "chosen", name: "x-http-code", value: "199" }]);
  t.equal(about.length, 1);
});

t.test("the log and the metrics have the statuses that were sent", async (t) => {
  const statuses = it.logged.filter(({ endpoint, dialect }) => endpoint === "chosen:Relay.Call" && dialect === "json");
  for (const status of [299, 451, 304, 202])
    t.ok(
      statuses.some((line) => line.status === status),
      `${status}`,
    );
  const metrics = await it.metrics.text();
  t.match(metrics, /portico_requests_total\{service="mapped",endpoint="mapped:Relay.Call",code="400"\} /);
  t.match(metrics, /portico_requests_total\{service="created",endpoint="created:Relay.Call",code="201"\} /);
});

t.test("the OpenAPI document lists the statuses", async (t) => {
  const token = await login(it.handler, "admin");
  const statusesOf = async (service: string, method: string): Promise<Record<string, object>> => {
    const headers = { authorization: `Bearer ${token}` };
    const { paths } = (await (await fetch(`${origin}/openapi/${service}.json`, { headers })).json()) as OpenApi;
    const [own, bound] = [paths[`/${service}/${method}`], paths[`/rest/${service}/bound/relay.Relay/${method}`]];
    t.same(Object.keys(own?.post.responses ?? {}), Object.keys(bound?.post.responses ?? {}), `${service} ${method}`);
    return own?.post.responses ?? {};
  };
  const usual = ["400", "401", "403", "429", "default"];
  const success = (await statusesOf("plain", "Call"))["200"];
  const created = await statusesOf("created", "Call");
  t.same(Object.keys(created), ["201", ...usual]);
  t.same(created["201"], success);
  t.same(Object.keys(await statusesOf("created", "Twice")), ["200", "204", ...usual]);
  t.match(await statusesOf("silent", "Call"), { 204: { description: "Nothing.", content: undefined } });
  t.same(Object.keys(await statusesOf("mapped", "Call")), [
    "200",
    "204",
    "400",
    "401",
    "403",
    "404",
    "418",
    "429",
    "default",
  ]);
  t.same(Object.keys(await statusesOf("chosen", "Call")), ["202", "400", "401", "403", "410", "429", "2XX", "default"]);
  t.same(Object.keys(await statusesOf("plain", "Call")), ["200", ...usual]);
});
