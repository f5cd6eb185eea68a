// Cases of grpc-gateway's own integration tests, each sent to grpc-gateway and to Portico in front
// of the same server. Their responses are compared: status, media type, body, metadata, trailers.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import t from "tap";
import type { ExternalService } from "../../../../src/config/configured-services.js";
import { RestStyle, ServiceOptions } from "../../../../src/gen/portico/registry/v1/service_options.js";
import { goModule } from "../../../outside/tools.js";
import { deploy, login } from "../../deployment.js";

t.setTimeout(300_000);

interface Case {
  /** The test of grpc-gateway that sends the request, or what is compared. */
  readonly title: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The error is the gateway's own, so only its message differs. */
  readonly words?: true;
  /** Portico responds differently, for this reason. */
  readonly differs?: string;
}

const MAX_WAIT = 10_000;
const ABE = "/v1/example/a_bit_of_everything";
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "content-type": "application/json" };
const TRAILERS = { te: "trailers" };

const MISSING = { title: "TestABE: look up what does not exist", path: `${ABE}/not_exist` };
const ALL_TYPES = `${ABE}/1.5/2.5/4294967296/separator/9223372036854775807/-2147483648/9223372036854775807/4294967295/true/strprefix/foo/4294967295/2147483647/-4611686018427387904/2147483647/4611686018427387903/camelCase/ONE/ABC/GHI/ONE`;
const PARAMS = `${ABE}/params/get/foo?double_value=1234.56&bool_value=true`;
const LISTS = "/v1/example/a_bit_of_everything_repeated/1.5,2/1/1/1/1/1/1/true/a/AA==/1/ONE/1/1/1/1";
const STRUCTS = '{"structField":{"struct_key":{"layered_struct_key":"v"}},"valueField":{"value_struct_key":"v"}}';
const FIELDS = "string_value=hello&repeated_string_value=demo1&repeated_string_value=demo2";

const CASES: readonly Case[] = [
  { title: "TestEcho", method: "POST", path: "/v1/example/echo/myid", headers: JSON_TYPE, body: "{}" },
  { title: "TestEcho: two variables", path: "/v1/example/echo/myid/10" },
  { title: "TestEcho: a oneof in the path", path: "/v1/example/echo/myid/10/golang" },
  { title: "TestEcho: a nested variable", path: "/v1/example/echo1/myid/10/footag" },
  { title: "TestEcho: a path value stays", path: "/v1/example/echo/resource/my_resource_id?resourceId=bad" },
  { title: "TestEcho: a nested path value stays", path: "/v1/example/echo/nested/foo?nId.nId=bar" },
  { title: "TestEcho: metadata in headers", method: "POST", path: "/v1/example/echo_body", body: '{"id":"a"}' },
  {
    title: "TestEcho: metadata in trailers",
    ...{ method: "POST", path: "/v1/example/echo_body", headers: TRAILERS, body: '{"id":"a"}' },
  },
  { title: "TestEchoUnauthorized", path: "/v1/example/echo_unauthorized" },
  { title: "TestEchoPatch: the update mask", method: "PATCH", path: "/v1/example/echo_patch", body: STRUCTS },
  {
    title: "TestEcho: metadata that is not ASCII is left out",
    ...{
      method: "POST",
      path: "/v1/example/echo/myid",
      headers: { "grpc-metadata-x-city": "Gj\u00f8vik" },
      body: "{}",
    },
  },
  { title: "TestRequestParseForm", method: "POST", path: "/v1/example/echo/myid1", headers: FORM, body: "num=1" },
  { title: "TestABE: create", method: "POST", path: ABE, body: '{"bool_value":true,"string_value":"a"}' },
  { title: "TestABE: a stream of what was created", path: ABE },
  { title: "TestABE: a stream that fails", path: `${ABE}?error=true` },
  { title: "TestABE: a path of all types", method: "POST", path: ALL_TYPES },
  MISSING,
  { ...MISSING, title: "TestABE: look up what does not exist, with trailers", headers: TRAILERS },
  { ...MISSING, title: "TestABE: HEAD of what does not exist", method: "HEAD" },
  { title: "TestABE: HEAD", method: "HEAD", path: `${ABE}/test` },
  { title: "TestABE: create many", method: "POST", path: `${ABE}/bulk`, body: '{"int32Value":1}\n{"int32Value":2}\n' },
  {
    title: "TestABE: create many, with trailers",
    ...{ method: "POST", path: `${ABE}/bulk`, headers: TRAILERS, body: '{"int32Value":1} {"int32Value":2}' },
  },
  {
    title: "TestABE: create many, with an error that metadata asks for",
    ...{ method: "POST", path: `${ABE}/bulk`, headers: { "grpc-metadata-error": "some error" }, body: "{}\n" },
  },
  {
    title: "TestABE: echo many, without white space between them",
    ...{ method: "POST", path: `${ABE}/echo`, headers: JSON_TYPE, body: '{"value":"a"}{"value":"b"}\n{"value":"c"}' },
  },
  {
    title: "TestABE: echo none",
    ...{ method: "POST", path: `${ABE}/echo`, headers: JSON_TYPE, body: "" },
    differs: "an empty stream has a media type",
  },
  { title: "TestABE: additional bindings, a query", path: "/v2/example/echo?value=hello" },
  { title: "TestABE: additional bindings, a body", method: "POST", path: "/v2/example/echo", body: '"hello"' },
  { title: "TestABE: download", path: "/v1/example/download" },
  { title: "TestResponseBodyStreamHttpBodyError", path: "/v1/example/download?error=true" },
  { title: "TestTimeout", path: "/v2/example/timeout", headers: { "grpc-timeout": "10m" }, words: true },
  { title: "TestInvalidTimeout", path: "/v2/example/timeout", headers: { "grpc-timeout": "INVALID" }, words: true },
  {
    title: "TestErrorWithDetails",
    path: "/v2/example/errorwithdetails",
    differs: "the details are google.rpc.DebugInfo, which never reaches a caller",
  },
  { title: "TestPostWithEmptyBody", method: "POST", path: "/v2/example/postwithemptybody/name", headers: JSON_TYPE },
  { title: "TestUnknownPath", method: "POST", path: "/", body: "{}", differs: "a 404 of routing is Portico's" },
  { title: "TestNotImplemented", path: "/v1/example/echo/myid", differs: "a 405 of routing is Portico's" },
  { title: "TestInvalidArgument", path: "/v1/example/echo/myid/not_int64", words: true },
  { title: "TestResponseBody", path: "/responsebody/foo" },
  { title: "TestResponseBody: a list", path: "/responsebodies/foo" },
  { title: "TestResponseBody: strings", path: "/responsestrings/foo" },
  { title: "TestResponseBody: no strings", path: "/responsestrings/empty" },
  { title: "TestResponseBodyStream", path: "/responsebody/stream/foo" },
  { title: "TestResponseBodySameName", path: "/responsebody/samename/foo" },
  { title: "TestRequestQueryParams: a map", path: `${PARAMS}&mapped_string_value[map_key]=map_value` },
  { title: "TestRequestQueryParams: as Go writes values", path: `${ABE}/params/get/foo?bool_value=T&enum_value=1` },
  { title: "TestRequestQueryParams: an empty message", path: `${ABE}/params/get/foo?oneof_empty=` },
  {
    title: "TestRequestQueryParams: a body and a query",
    ...{ method: "POST", path: `${ABE}/params/post/hello?double_value=1.5`, body: '{"name":"foo","amount":100}' },
  },
  {
    title: "TestRequestQueryParams: a form at a path for GET",
    ...{ method: "POST", path: PARAMS, headers: FORM, body: FIELDS },
  },
  { title: "TestNestedEnumGetQueryParams", path: `${ABE}/params/get/nested_enum/1` },
  { title: "a body where none is read", method: "POST", path: "/rpc/empty/rpc", headers: JSON_TYPE, body: '{"a":1} b' },
  { title: "a stream of empty messages", method: "POST", path: "/rpc/empty/stream", headers: JSON_TYPE, body: "{}" },
  { title: "a value that is not JSON", method: "POST", path: "/v1/example/echo_body", body: "{", words: true },
  {
    title: "a value of a stream that is not JSON",
    method: "POST",
    path: `${ABE}/bulk`,
    body: "{}\n{x}\n",
    words: true,
  },
  {
    title: "JSON as text/plain",
    ...{ method: "POST", path: "/v1/example/echo_body", headers: { "content-type": "text/plain" }, body: '{"id":"a"}' },
  },
  { title: "a verb", method: "POST", path: `${ABE}/x:custom`, body: "{}" },
  { title: "a verb with a colon in it", method: "POST", path: `${ABE}/x:custom:custom`, body: "{}" },
  {
    title: "TestABE: OPTIONS as an endpoint",
    ...{ method: "OPTIONS", path: `${ABE}/test` },
    differs: "OPTIONS is for CORS, and calls nothing",
  },
  { title: "TestABE: TRACE as an endpoint", method: "TRACE", path: `${ABE}/test`, differs: "TRACE calls nothing" },
  { title: "TestABERepeated", path: LISTS, differs: "google.api.http allows no lists in a path" },
];

interface Received {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly body: readonly unknown[];
  readonly metadata: object;
  readonly trailers: object;
}

async function ask(port: number, { method = "GET", path, headers = {}, body }: Case, token = ""): Promise<Received> {
  const authorized = token === "" ? headers : { ...headers, authorization: `Bearer ${token}` };
  const outgoing = request({
    host: "127.0.0.1",
    port,
    path,
    method,
    headers: authorized,
    agent: false,
    signal: AbortSignal.timeout(MAX_WAIT),
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const received = await text(response);
  const { statusCode: status, headers: sent, trailers } = response;
  return { status, type: sent["content-type"], body: linesOf(received), metadata: metadataOf(sent), trailers };
}

/** A body as JSON, or as lines of JSON; texts that are not JSON stay texts. IDs are random. */
function linesOf(body: string): unknown[] {
  return body.split("\n").map((line) => {
    try {
      return JSON.parse(line.replace(/"uuid":\s*"[^"]{20,}"/g, '"uuid":"…"'));
    } catch {
      return line;
    }
  });
}

/** An error whose message may be any text. */
function withoutMessage(lines: readonly unknown[]): object {
  return [{ ...(lines[0] as object), message: String }];
}

/** grpc-gateway passes the content type of gRPC on, which says nothing to a client. */
function metadataOf(headers: IncomingMessage["headers"]): object {
  const own = Object.entries(headers).filter(
    ([name]) => name.startsWith("grpc-metadata-") && !name.endsWith("-content-type"),
  );
  return Object.fromEntries(own.map(([name, value]) => [name, /^[0-9a-f-]{36}$/.test(String(value)) ? "…" : value]));
}

/** Starts the example, and returns the ports of its gRPC server and its gateway. */
async function startExample(program: string, descriptors: string): Promise<{ child: ChildProcess; ports: number[] }> {
  const child = spawn(program, [descriptors], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, ports: line.split(" ").map((address) => Number(address.split(":")[1])) };
}

/** The example as a service of the configuration. */
function example(port: number, descriptors: string): ExternalService {
  const options = { rest: RestStyle.GRPC_GATEWAY, ignoreUnknown: true, metadata: ["*"] };
  const targets = [{ target: { host: "127.0.0.1", port }, weight: 1 }];
  return { name: "example", targets, descriptors, options: ServiceOptions.fromPartial(options) };
}

const program = goModule("grpc-gateway", "test/gateway/dialects/http-rule/grpc-gateway");

t.test("clients of grpc-gateway", { skip: program === undefined && "there is no Go here" }, async (t) => {
  const folder = t.testdir();
  const descriptors = join(folder, "example.bin");
  const { child, ports } = await startExample(program as string, descriptors);
  t.teardown(() => child.stdin?.end());
  const [server = 0, theirs = 0] = ports;
  const portico = await deploy(folder, { flags: { lease: "60s" }, external: [example(server, descriptors)] });
  t.teardown(portico.close);
  const token = await login(portico.handler, "admin");

  for (const one of CASES) {
    t.test(one.title, async (t) => {
      const expected = await ask(theirs, one);
      const actual = await ask(portico.gateway.address.port, one, token);
      if (one.differs !== undefined) t.notSame(actual, expected, one.differs);
      else if (one.words) t.match(actual, { ...expected, body: withoutMessage(expected.body) });
      else t.same(actual, expected);
    });
  }
});
