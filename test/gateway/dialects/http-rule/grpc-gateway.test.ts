// What clients of grpc-gateway send to the paths of a service with `--rest=grpc-gateway`, and what
// they get. grpc-gateway.outside.ts compares the same with grpc-gateway itself.
import { once } from "node:events";
import { type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";
import t from "tap";
import { NO_PASSED_METADATA, PassedMetadata, PrefixedMetadata } from "../../../../gateway/catalog/passed-metadata.js";
import { noServiceOptions } from "../../../../src/config/service-options.js";
import { RestStyle } from "../../../../src/gen/portico/registry/v1/service_options.js";
import { DETAIL, HEADERS, ScriptedLimits } from "../../../rpc/scripted-limits.js";
import { dispatcherOf, listen } from "../../../rpc/serve.js";
import { ask, deploy, login, post } from "../../deployment.js";
import { createLibrary } from "./library.js";

const MAX_BODY = 64 * 1024;
const server = await listen(t, dispatcherOf([createLibrary()]));
const options = { ...noServiceOptions(), rest: RestStyle.GRPC_GATEWAY };
const target = server.address as { host: string; port: number };
const library = { name: "library", targets: [{ target, weight: 1 }], options };
const limited = { name: "limited", targets: library.targets, options: { ...options, bindingPrefix: "/limited" } };
limited.options.maxMessage = 1024;
const external = [library, limited].map((one) => ({ ...one, descriptors: createLibrary().descriptors as Buffer }));
const limits = new ScriptedLimits();
const { count } = limits;
const it = await deploy(t.testdir(), { flags: { lease: "60s", maxBody: String(MAX_BODY) }, external, count });
t.teardown(it.close);
const { handler, gateway } = it;

const JSON_TYPE = ["Content-Type", "application/json"];
const FORM = ["Content-Type", "application/x-www-form-urlencoded"];
const GET = ["X-HTTP-Method-Override", "GET"];

interface Case {
  readonly title: string;
  readonly method?: string;
  readonly target: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  /** The fields of the request that arrived. */
  readonly arrives?: object;
  readonly refused?: readonly [status: number, code: number, message: RegExp];
}

const REQUESTS: readonly Case[] = [
  ...["text/plain", "application/x-www-form-urlencoded", "application/octet-stream", "nonsense"].map((type) => ({
    ...{ title: `JSON of the content type ${type}`, method: "POST", target: "/lib/all", body: '{"name":"a"}' },
    ...{ headers: ["Content-Type", type], arrives: { name: "a" } },
  })),
  {
    title: "JSON without a content type",
    method: "POST",
    target: "/lib/all",
    body: '{"name":"a"}',
    arrives: { name: "a" },
  },
  { title: "an empty body", method: "POST", target: "/lib/all", headers: JSON_TYPE, body: "", arrives: {} },
  { title: "a body of white space", method: "POST", target: "/lib/all", headers: JSON_TYPE, body: " \n", arrives: {} },
  {
    title: "a body where none is read",
    ...{ target: "/lib/shelves/1", headers: JSON_TYPE, body: "{not JSON", arrives: { name: "shelves/1" } },
  },
  {
    title: "a query where all fields are in the body",
    ...{ method: "POST", target: "/lib/all?shelf=1&nonsense", body: '{"name":"a"}', arrives: { name: "a" } },
  },
  {
    title: "a query that names the field of the body, or of the path",
    method: "POST",
    target: "/lib/shelves/7/books?book.title=x&shelf=8&tags=t",
    ...{ body: '{"title":"T"}', arrives: { shelf: "7", book: { title: "T" }, tags: ["t"] } },
  },
  {
    title: "a form, where the path is bound to GET",
    ...{
      method: "POST",
      target: "/lib/shelves/1?tags=a",
      headers: FORM,
      body: "tags=b&labels[k]=v%20w&book.title=T+U",
    },
    arrives: { name: "shelves/1", tags: ["a", "b"], labels: { k: "v w" }, book: { title: "T U" } },
  },
  {
    title: "a form with the method GET in a header",
    ...{ method: "POST", target: "/lib/parts/shelf", headers: [...FORM, ...GET], body: "shelf=5" },
  },
  {
    title: "a form with the method DELETE in a header",
    ...{ method: "POST", target: "/lib/shelves/1:purge", headers: [...FORM, "X-HTTP-Method-Override", "delete"] },
    ...{ body: "pageSize=2", arrives: { name: "shelves/1", pageSize: 2 } },
  },
  {
    title: "true as Go writes it, in the query",
    ...{ target: "/lib/shelves/1?flag=T&by_flag[1]=2", arrives: { name: "shelves/1", flag: true } },
    refused: [400, 3, /^byFlag: /],
  },
  {
    title: "values as Go writes them, in the path",
    target: "/lib/at/2026-11-22T10:00:00Z/42/1/1/AAH_",
    arrives: { since: "2026-11-22T10:00:00Z", number: 42, kind: "NOVEL", flag: true, data: "AAH/" },
  },
  {
    title: "a value that does not fit",
    target: "/lib/shelves/1?shelf=x",
    refused: [400, 3, /^shelf: expected an integer/],
  },
  {
    title: "a body that is not JSON",
    method: "POST",
    target: "/lib/all",
    body: "{",
    refused: [400, 3, /^line 1, column 2: /],
  },
  { title: "an error of the service", target: "/lib/fail/1", refused: [404, 5, /^no such shelf$/] },
  {
    title: "a malformed timeout",
    ...{ target: "/lib/shelves/1", headers: ["Grpc-Timeout", "soon"] },
    refused: [400, 3, /^Grpc-Timeout must be/],
  },
];

for (const { title, method = "GET", target, headers = [], body, arrives, refused } of REQUESTS) {
  t.test(title, async (t) => {
    const response = await ask(handler, { method, target, headers, body });
    if (refused === undefined) {
      t.equal(response.status, 200, response.body);
      if (arrives !== undefined) t.match(JSON.parse(response.body), arrives);
      return;
    }
    const [status, code, message] = refused;
    const { code: sent, message: said, details, ...others } = JSON.parse(response.body);
    t.same([response.status, sent, details, others], [status, code, [], {}]);
    t.match(said, message);
  });
}

const PLAIN = ["Content-Type", "text/plain"];
const CROSS_SITE: readonly (readonly [title: string, target: string, headers: readonly string[], body?: string])[] = [
  ["JSON as text/plain, by Sec-Fetch-Site", "/lib/all", [...PLAIN, "Sec-Fetch-Site", "cross-site"], '{"name":"a"}'],
  ["JSON as text/plain, of the same site", "/lib/all", [...PLAIN, "Sec-Fetch-Site", "same-site"], '{"name":"a"}'],
  ["JSON as text/plain, by Origin", "/lib/all", [...PLAIN, "Origin", "https://bad.example"], '{"name":"a"}'],
  ["JSON as text/plain, of the origin null", "/lib/all", [...PLAIN, "Origin", "null"], '{"name":"a"}'],
  ["no content type", "/lib/all", ["Origin", "https://bad.example"], '{"name":"a"}'],
  ["a form for GET", "/lib/shelves/1", [...FORM, "Origin", "https://bad.example"], "tags=a"],
  [
    "a form that names DELETE",
    "/lib/shelves/1:purge",
    [...FORM, "X-HTTP-Method-Override", "DELETE", "Origin", "null"],
    "",
  ],
  [
    "a form that is a navigation",
    "/lib/shelves/1",
    [...FORM, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"],
    "tags=a",
  ],
];
for (const [title, target, headers, body] of CROSS_SITE) {
  t.test(`a page of another origin may not send ${title}`, async (t) => {
    const sent = { method: "POST", target, ...(body === undefined ? {} : { body }) };
    t.equal((await ask(handler, { ...sent, headers })).status, 403);
    const own = headers.filter((_, index) => !/^(?:Origin|Sec-)/.test(headers[index - (index % 2)] as string));
    t.equal((await ask(handler, { ...sent, headers: own })).status, 200, "without the headers of a browser");
  });
}

t.test("only the annotated paths speak like grpc-gateway", async (t) => {
  const byName = await ask(handler, { method: "POST", target: "/library/fail", headers: JSON_TYPE, body: "{}" });
  t.match(JSON.parse(byName.body), { Id: "library", Code: 404, Detail: "no such shelf" });
  t.equal((await ask(handler, { method: "POST", target: "/library/put", headers: PLAIN, body: "{}" })).status, 415);
  const wrongMethod = await ask(handler, { method: "PUT", target: "/lib/shelves/1" });
  t.match([wrongMethod.status, JSON.parse(wrongMethod.body).Code], [405, 405]);
});

t.test("refusals by token and rules are errors of the same form", async (t) => {
  const { status, headers, body } = await ask(handler, { target: "/v1/lib/shelves/1" });
  t.match([status, headers["www-authenticate"]], [401, /^Bearer resource_metadata="/]);
  t.match(JSON.parse(body), { code: 16, message: /^Unauthorized call made to library:.*below \/v1\//, details: [] });
  const token = await login(handler, "admin");
  const rule = { id: "no", scope: "<public>", access: "DENIED", priority: 1, resource: "service:library:Library.Part" };
  await post(handler, "/v1/auth/Rules/Create", { rule }, token);
  const denied = await ask(handler, { target: "/lib/parts/book" });
  t.match([denied.status, JSON.parse(denied.body)], [401, { code: 16, details: [] }]);
});

t.test("the OpenAPI document has the errors and streams as they are sent", async (t) => {
  const { body } = await ask(handler, { target: "/openapi/library.json" });
  const { paths, components } = JSON.parse(body);
  const { schema } = paths["/lib/fail/{shelf}"].get.responses.default.content["application/json"];
  t.same(schema, { $ref: "#/components/schemas/grpc-gateway-error" });
  t.same(components.schemas["grpc-gateway-error"].required, ["code", "message"]);
  const { responses, parameters } = paths["/lib/shelves/{shelvesId}/list"].get;
  t.strictSame(Object.keys(responses[200].content), ["application/json"]);
  const lines = responses[200].content["application/json"]["x-item-schema"].anyOf;
  t.match(lines, [{ required: ["result"] }, { required: ["error"] }]);
  t.notOk(responses[204] ?? parameters.find(({ $ref = "" }) => $ref.endsWith("Last-Event-ID")));
  t.match(paths["/library/Fail"].post.responses.default, { $ref: "#/components/responses/Failure" }, "by its name");
});

interface Sent {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
}

/** Begins a request over a connection. */
function begin(path: string, { method = "POST", headers = {} }: Sent = {}) {
  const outgoing = request({ host: "127.0.0.1", port: gateway.address.port, path, method, headers, agent: false });
  t.teardown(() => outgoing.destroy());
  return { outgoing, response: once(outgoing, "response").then(([response]) => response as IncomingMessage) };
}

async function send(path: string, body: string, sent: Sent = {}) {
  const { outgoing, response } = begin(path, sent);
  outgoing.end(body);
  const received = await response;
  return { status: received.statusCode, type: received.headers["content-type"], body: await text(received) };
}

const STREAMS: readonly (readonly [title: string, path: string, body: string, method: string, received: object])[] = [
  [
    "of responses is lines with a result",
    ...(["/lib/shelves/1/list", "", "GET"] as const),
    { status: 200, type: "application/json", body: /^(?:\{"result":\{"name":"shelves\/1".*\}\}\n){3}$/ },
  ],
  [
    "of a field of the responses",
    ...(["/lib/shelves/1/tags?tags=a", "", "GET"] as const),
    { status: 200, body: '{"result":["a"]}\n{"result":["a"]}\n{"result":["a"]}\n' },
  ],
  [
    "of raw bytes is one line for each message",
    ...(["/lib/download/n", '{"contentType":"text/css","data":"YWI="}', "POST"] as const),
    { status: 200, type: "text/css", body: "ab\nab\nab\n" },
  ],
  [
    "of requests has one response",
    ...(["/lib/upload", '{"name":"a"}\n{"shelf":"3"}', "POST"] as const),
    { status: 200, body: /^\{"name":"a","shelf":"3".*[^\n]$/ },
  ],
  [
    "of requests has the fields of the path in each",
    ...(["/lib/upload/n/b1", '{"name":"other","book":{"title":"T"}}', "PUT"] as const),
    { status: 200, body: /^\{"name":"n".*"book":\{"id":"b1","name":"","title":"T"/ },
  ],
  [
    "in both directions",
    ...(["/lib/talk", '{"name":"a"}{"name":"b"}', "POST"] as const),
    { status: 200, type: "application/json", body: /^\{"result":\{"name":"a".*\n\{"result":\{"name":"b".*\n$/ },
  ],
  ["in both directions without a message", "/lib/talk", "", "POST", { status: 200, body: "" }],
  [
    "whose request is malformed",
    ...(["/lib/upload", '{"name":"a"}\n{', "POST"] as const),
    { status: 400, body: /^\{"code":3,"message":"The body ends before/ },
  ],
  [
    "with a message that is too large",
    ...(["/lib/upload", `{"name":"a"}${JSON.stringify({ name: "x".repeat(MAX_BODY) })}`, "POST"] as const),
    { status: 413, body: /^\{"code":8,"message":"A message of the stream must not be larger than 65536 bytes"/ },
  ],
  [
    "with a message over the service's own limit",
    ...(["/limited/lib/upload", `{"name":"a"}${JSON.stringify({ name: "x".repeat(1024) })}`, "POST"] as const),
    { status: 413, body: /^\{"code":8,"message":"A message of the stream must not be larger than 1024 bytes"/ },
  ],
];
for (const [title, path, body, method, received] of STREAMS) {
  t.test(`a stream ${title}`, async (t) => t.match(await send(path, body, { method }), received));
}

t.test("a body that is too large", async (t) => {
  const { status, body } = await send("/lib/all", JSON.stringify({ name: "x".repeat(MAX_BODY) }));
  t.equal(status, 413);
  t.match(JSON.parse(body), { code: 8, message: /must not be larger/, details: [] });
});

t.test("a stream that fails after its first message ends with the error", async (t) => {
  const { outgoing, response } = begin("/lib/talk");
  outgoing.write('{"name":"a"}\n');
  const received = await response;
  outgoing.end("{]\n");
  t.match(await text(received), /^\{"result":\{"name":"a".*\}\}\n\{"error":\{"code":3,"message":"line 1.*\}\}\n$/);
});

t.test("a limit refuses a call, and a message of a stream", async (t) => {
  limits.reset("refuse");
  const refused = {
    code: 8,
    message: DETAIL,
    details: [{ violations: [{ subject: "limit:ci" }] }, { retryDelay: "2s" }],
  };
  const { status, headers, body } = await ask(handler, { target: "/lib/shelves/1" });
  t.equal(status, 429);
  t.match(headers, { ...HEADERS, "retry-after": "2" });
  t.match(JSON.parse(body), refused);
  limits.reset("grant", "grant", "grant later", "refuse");
  const sending = send("/lib/talk", '{"name":"a"}{"name":"b"}{"name":"c"}');
  await limits.release();
  const lines = (await sending).body.trimEnd().split("\n");
  t.match(JSON.parse(lines.at(-1) ?? ""), { error: refused });
  t.equal(limits.messages, 3);
  t.same([limits.open, limits.ends], [0, [1]]);
  limits.reset(undefined);
});

t.test("a client that is silent between two messages stays connected", async (t) => {
  const { outgoing, response } = begin("/lib/talk");
  outgoing.write('{"name":"a"}');
  const received = await response;
  received.setEncoding("utf8");
  for (const name of ["b", "c"]) {
    t.match(String(await once(received, "data")), /"result"/, "the response to what was sent, while the body is open");
    outgoing.write(JSON.stringify({ name }));
  }
  outgoing.end();
  t.match(await text(received), /"name":"c"/);
});

t.test("a stream of many messages is sent no faster than the service and the client take it", async (t) => {
  const { outgoing, response } = begin("/lib/talk");
  const line = `${JSON.stringify({ name: "x".repeat(1_000) })}\n`;
  const sending = (async () => {
    for (let count = 0; count < 1_000; count++) if (!outgoing.write(line)) await once(outgoing, "drain");
    outgoing.end();
  })();
  let bytes = 0;
  for await (const chunk of await response) bytes += chunk.length;
  await sending;
  t.ok(bytes > 1_000_000, `${bytes} bytes`);
});

const METADATA: readonly (readonly [configured: readonly string[], header: string, value: string, arrives: boolean])[] =
  [
    [["x-tenant"], "Grpc-Metadata-X-Tenant", "a", true],
    [["x-tenant"], "X-Tenant", "a", true],
    [["*"], "Grpc-Metadata-X-Tenant", "a", true],
    [["x-other"], "Grpc-Metadata-X-Tenant", "a", false],
    [[], "Grpc-Metadata-X-Tenant", "a", false],
    [["*"], "Grpc-Metadata-X-Tenant", "Gj\u00f8vik", false],
    ...[
      ...["Authorization", "Cookie", "Host", "X-Request-Id", "Platform-Namespace", "X-Portico-Account"],
      ...["X-Forwarded-For", "Grpc-Timeout", "Grpcgateway-Host", "X-Portico-Context", "Traceparent", "Te", "Foo+Bar"],
    ].map((name) => [["*"], `Grpc-Metadata-${name}`, "a", false] as const),
  ];
for (const [configured, header, value, arrives] of METADATA) {
  t.test(`${header}: ${value} ${arrives ? "arrives" : "does not arrive"} with [${configured}]`, async (t) => {
    const passed = configured.length === 0 ? NO_PASSED_METADATA : new PassedMetadata(configured);
    const name = header.toLowerCase().replace("grpc-metadata-", "");
    t.same(new PrefixedMetadata(passed).read([header, value]), arrives ? [[name, value]] : []);
  });
}
