// Cases of grpc-gateway's own integration tests, each sent to grpc-gateway and to Portico in front
// of the same server. Their responses are compared: status, media type, body, metadata, trailers.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import t from "tap";
import { RestStyle, ServiceOptions } from "../../../../src/gen/portico/registry/v1/service_options.js";
import { goModule } from "../../../outside/tools.js";
import { until } from "../../../support/until.js";
import { type Deployment, deploy, login } from "../../deployment.js";

t.setTimeout(300_000);

interface Case {
  /** The test of grpc-gateway that sends the request, or what is compared. */
  readonly title: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Portico responds differently, for this reason. */
  readonly differs?: string;
}

const MAX_WAIT = 10_000;
const ABE = "/v1/example/a_bit_of_everything";
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "content-type": "application/json" };
const TRAILERS = { te: "trailers" };

const CASES: readonly Case[] = [
  {
    title: "TestEcho: the path sets a field",
    method: "POST",
    path: "/v1/example/echo/myid",
    headers: JSON_TYPE,
    body: "{}",
  },
  { title: "TestEcho: two variables", path: "/v1/example/echo/myid/10" },
  { title: "TestEcho: a oneof in the path", path: "/v1/example/echo/myid/10/golang" },
  { title: "TestEcho: a nested variable", path: "/v1/example/echo1/myid/10/footag" },
  {
    title: "TestEcho: a path value is not overwritten",
    path: "/v1/example/echo/resource/my_resource_id?resourceId=bad",
  },
  { title: "TestEcho: a nested path value is not overwritten", path: "/v1/example/echo/nested/foo?nId.nId=bar" },
  { title: "TestEcho: metadata in headers", method: "POST", path: "/v1/example/echo_body", body: '{"id":"example"}' },
  {
    title: "TestEcho: metadata in trailers",
    method: "POST",
    path: "/v1/example/echo_body",
    headers: TRAILERS,
    body: '{"id":"example"}',
  },
  { title: "TestEchoUnauthorized", path: "/v1/example/echo_unauthorized" },
  {
    title: "TestEchoPatch: an update mask of a Struct",
    method: "PATCH",
    path: "/v1/example/echo_patch",
    body: '{"structField":{"struct_key":{"layered_struct_key":"struct_val"}},"valueField":{"value_struct_key":"value_struct_val"}}',
  },
  {
    title: "TestEcho: metadata that is not ASCII is left out",
    method: "POST",
    path: "/v1/example/echo/myid",
    headers: { "grpc-metadata-location": "Gj\u00f8vik" },
    body: "{}",
  },
  { title: "TestRequestParseForm", method: "POST", path: "/v1/example/echo/myid1", headers: FORM, body: "num=1" },
  {
    title: "TestABE: create",
    method: "POST",
    path: ABE,
    body: '{"bool_value":true,"string_value":"strprefix/example"}',
  },
  {
    title: "TestABE: create with a path of all types",
    method: "POST",
    path: `${ABE}/1.5/2.5/4294967296/separator/9223372036854775807/-2147483648/9223372036854775807/4294967295/true/strprefix%2Ffoo/4294967295/2147483647/-4611686018427387904/2147483647/4611686018427387903/camelCase/ONE/ABC/GHI/ONE`,
  },
  { title: "TestABE: look up what does not exist", path: `${ABE}/not_exist` },
  { title: "TestABE: look up what does not exist, with trailers", path: `${ABE}/not_exist`, headers: TRAILERS },
  { title: "TestABE: HEAD of what does not exist", method: "HEAD", path: `${ABE}/not_exist` },
  { title: "TestABE: HEAD", method: "HEAD", path: `${ABE}/test` },
  {
    title: "TestABE: create many",
    method: "POST",
    path: `${ABE}/bulk`,
    body: '{"stringValue":"strprefix/foo"}\n{"stringValue":"strprefix/bar"}\n',
  },
  {
    title: "TestABE: create many, with trailers",
    method: "POST",
    path: `${ABE}/bulk`,
    headers: TRAILERS,
    body: '{"int32Value":1} {"int32Value":2}',
  },
  {
    title: "TestABE: create many, with the error that metadata asks for",
    method: "POST",
    path: `${ABE}/bulk`,
    headers: { "grpc-metadata-error": "some error" },
    body: '{"stringValue":"strprefix/foo"}\n',
  },
  { title: "TestABE: a stream of what was created", path: ABE },
  { title: "TestABE: a stream that fails", path: `${ABE}?error=true` },
  {
    title: "TestABE: echo many, without white space between them",
    method: "POST",
    path: `${ABE}/echo`,
    headers: JSON_TYPE,
    body: '"message 0""message 1"\n"message 2"',
  },
  { title: "TestABE: echo none", method: "POST", path: `${ABE}/echo`, headers: JSON_TYPE, body: "" },
  { title: "TestABE: additional bindings, a query", path: "/v2/example/echo?value=hello" },
  { title: "TestABE: additional bindings, a body", method: "POST", path: "/v2/example/echo", body: '"hello"' },
  { title: "TestABE: download", path: "/v1/example/download" },
  { title: "TestResponseBodyStreamHttpBodyError", path: "/v1/example/download?error=true" },
  { title: "TestTimeout", path: "/v2/example/timeout", headers: { "grpc-timeout": "10m" } },
  { title: "TestInvalidTimeout", path: "/v2/example/timeout", headers: { "grpc-timeout": "INVALID" } },
  { title: "TestErrorWithDetails", path: "/v2/example/errorwithdetails" },
  { title: "TestPostWithEmptyBody", method: "POST", path: "/v2/example/postwithemptybody/name", headers: JSON_TYPE },
  { title: "TestUnknownPath", method: "POST", path: "/", body: "{}" },
  { title: "TestMethodNotAllowed", path: "/v1/example/echo/myid" },
  { title: "TestInvalidArgument", path: "/v1/example/echo/myid/not_int64" },
  { title: "TestResponseBody", path: "/responsebody/foo" },
  { title: "TestResponseBody: a list", path: "/responsebodies/foo" },
  { title: "TestResponseBody: strings", path: "/responsestrings/foo" },
  { title: "TestResponseBody: no strings", path: "/responsestrings/empty" },
  { title: "TestResponseBodyStream", path: "/responsebody/stream/foo" },
  { title: "TestResponseBodySameName", path: "/responsebody/samename/foo" },
  {
    title: "TestRequestQueryParams: a map",
    path: `${ABE}/params/get/foo?double_value=1234.56&bool_value=true&mapped_string_value[map_key]=map_value`,
  },
  {
    title: "TestRequestQueryParams: values as Go writes them",
    path: `${ABE}/params/get/foo?bool_value=1&enum_value=1&nested_path_enum_value=GHI&repeated_enum_value=ONE&timestamp_value=2026-11-22T10:00:00Z`,
  },
  { title: "TestRequestQueryParams: an empty message", path: `${ABE}/params/get/foo?oneof_empty=` },
  {
    title: "TestRequestQueryParams: a body and a query",
    method: "POST",
    path: `${ABE}/params/post/hello-world?double_value=1234.56&bool_value=true`,
    headers: JSON_TYPE,
    body: '{"name":"foo","amount":100}',
  },
  {
    title: "TestRequestQueryParams: a form at a path for GET",
    method: "POST",
    path: `${ABE}/params/get/foo?double_value=1234.56&bool_value=true`,
    headers: FORM,
    body: "string_value=hello-world&repeated_string_value=demo1&repeated_string_value=demo2&optional_string_value=o",
  },
  { title: "TestNestedEnumGetQueryParams", path: `${ABE}/params/get/nested_enum/1` },
  { title: "TestExcessBody", method: "POST", path: "/rpc/excess-body/rpc", headers: JSON_TYPE, body: "{}" },
  {
    title: "TestExcessBody: unexpected",
    method: "POST",
    path: "/rpc/excess-body/rpc",
    headers: JSON_TYPE,
    body: '{"a":1} and more',
  },
  {
    title: "TestExcessBody: a stream",
    method: "POST",
    path: "/rpc/excess-body/stream",
    headers: JSON_TYPE,
    body: "{}",
  },
  { title: "a value that is not JSON", method: "POST", path: "/v1/example/echo_body", body: "{" },
  { title: "a stream's value that is not JSON", method: "POST", path: `${ABE}/bulk`, body: "{}\n{x}\n" },
  {
    title: "JSON as text/plain",
    method: "POST",
    path: "/v1/example/echo_body",
    headers: { "content-type": "text/plain" },
    body: '{"id":"a"}',
  },
  { title: "a verb", method: "POST", path: `${ABE}/x:custom`, body: "{}" },
  { title: "a verb with a colon in it", method: "POST", path: `${ABE}/x:custom:custom`, body: "{}" },
  { title: "an unimplemented endpoint", path: "/v1/example/snake/VALUE_C/VALUE_D/VALUE_E" },
  {
    title: "TestABE: OPTIONS with an endpoint",
    method: "OPTIONS",
    path: `${ABE}/test`,
    headers: JSON_TYPE,
    body: "{}",
  },
  { title: "TestABE: TRACE with an endpoint", method: "TRACE", path: `${ABE}/test` },
  {
    title: "TestABERepeated: lists in the path",
    path: "/v1/example/a_bit_of_everything_repeated/1.5,2/1/1/1/1/1/1/true/a/AA==/1/ONE/1/1/1/1",
  },
];

interface Received {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly body: unknown;
  readonly metadata: object;
  readonly trailers: object;
}

async function ask(port: number, { method = "GET", path, headers = {}, body }: Case, token = ""): Promise<Received> {
  const authorized = token === "" ? headers : { ...headers, authorization: `Bearer ${token}` };
  const outgoing = request({ host: "127.0.0.1", port, path, method, headers: authorized, agent: false, signal: AbortSignal.timeout(MAX_WAIT) });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const received = await text(response);
  const { statusCode: status, headers: sent, trailers } = response;
  return { status, type: sent["content-type"], body: valueOf(received), metadata: metadataOf(sent), trailers };
}

/** A body as JSON, or as lines of JSON; texts that are not JSON stay texts. IDs are random. */
function valueOf(body: string): unknown {
  const parsed = body.split("\n").map((line) => {
    try {
      return JSON.parse(line.replace(/"uuid":\s*"[^"]{20,}"/, '"uuid":"…"'));
    } catch {
      return line;
    }
  });
  return parsed;
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

const NAMES = [
  "EchoService",
  "StreamService",
  "ABitOfEverythingService",
  "FlowCombination",
  "ExcessBodyService",
  "ResponseBodyService",
];

async function joinExample({ add, catalog }: Deployment, port: number, descriptors: Buffer): Promise<void> {
  add({
    service: "example",
    addresses: [`127.0.0.1:${port}`],
    descriptors,
    grpcServices: NAMES.map((name) => `grpc.gateway.examples.internal.proto.examplepb.${name}`),
    metadata: ["*"],
    options: ServiceOptions.fromPartial({ rest: RestStyle.GRPC_GATEWAY, ignoreUnknown: true }),
  });
  await until(() => catalog.routes.bindings.find("GET", ABE) !== undefined);
}

const program = goModule("grpc-gateway", "test/gateway/dialects/http-rule/grpc-gateway");

t.test("clients of grpc-gateway", { skip: program === undefined && "there is no Go here" }, async (t) => {
  const folder = t.testdir();
  const descriptors = join(folder, "example.bin");
  const { child, ports } = await startExample(program as string, descriptors);
  t.teardown(() => child.stdin?.end());
  const [server = 0, theirs = 0] = ports;
  const portico = await deploy(folder, { flags: { lease: "60s" } });
  t.teardown(portico.close);
  await joinExample(portico, server, readFileSync(descriptors));
  const token = await login(portico.handler, "admin");

  for (const one of CASES) {
    t.test(one.title, async (t) => {
      const expected = await ask(theirs, one);
      const actual = await ask(portico.gateway.address.port, one, token);
      if (one.differs === undefined) t.same(actual, expected);
      else t.notSame(actual, expected, one.differs);
    });
  }
});
