// No service can take a built-in route: neither by a binding with the same literal path, nor by a
// wildcard.
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import t, { type Test } from "tap";
import { Pages } from "../../../../gateway/built-in/pages.js";
import { PATH as MCP_PATH } from "../../../../gateway/dialects/mcp/mcp.js";
import { METADATA_PATHS } from "../../../../gateway/http/protected-resource.js";
import { ServedDocuments } from "../../../../gateway/openapi/served.js";
import { isBuiltInRoute } from "../../../../src/contract/built-in-routes.js";
import { pathOf } from "../../../../src/contract/endpoint.js";
import { SELF_GOVERNED } from "../../../../src/contract/names.js";
import { HttpRule } from "../../../../src/gen/google/api/http.js";
import { part, type Service } from "../../../../src/rpc/service.js";
import { BYTES } from "../../../rpc/raw-service.js";
import { until } from "../../../support/until.js";
import { ask, type Deployment, deploy } from "../../deployment.js";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"];
const HTTP = 72_295_728;
const WILDCARDS = ["/**", "/{a}", "/{a}/{b}", "/{a}/**", "/v1/{a}", "/v1/{a}/{b}", "/v1/{a=**}", "/{a=**}/x"];

/** An HTTP method, `*` for any, and a template. */
type Rule = readonly [kind: string, path: string];

/** A service with an endpoint for each group of bindings. */
function greedy(bindingGroups: readonly (readonly Rule[])[]): Service {
  const string = { type: FieldDescriptorProto_Type.STRING, label: FieldDescriptorProto_Label.OPTIONAL };
  const method = bindingGroups.map((bindings, index) => {
    const [first, ...more] = bindings.map(
      ([kind, path]) => ({ pattern: { $case: "custom", value: { kind, path } } }) as const,
    );
    const rule = HttpRule.fromPartial({ ...first, additionalBindings: more });
    const data = new BinaryWriter().bytes(HttpRule.encode(rule).finish()).finish();
    const options = create(MethodOptionsSchema);
    options.$unknown = [{ no: HTTP, wireType: WireType.LengthDelimited, data }];
    return { name: `Take${index}`, inputType: ".greedy.Take", outputType: ".greedy.Take", options };
  });
  const file = create(FileDescriptorProtoSchema, {
    ...{ name: "greedy.proto", package: "greedy", syntax: "proto3", service: [{ name: "Greedy", method }] },
    messageType: [{ name: "Take", field: ["a", "b"].map((name, index) => ({ ...string, name, number: index + 1 })) }],
  });
  const definition = Object.fromEntries(
    method.map(({ name }) => [
      name,
      { path: `/greedy.Greedy/${name}`, requestStream: false, responseStream: false, ...BYTES } as const,
    ]),
  );
  const take = (request: Buffer): Buffer => request;
  return {
    name: "greedy",
    descriptors: Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [file] }))),
    parts: [part(definition, Object.fromEntries(method.map(({ name }) => [name, take])))],
  };
}

function pages(t: Test): Pages {
  const document = { "index.html": "page", "index.html.br": "", "index.html.gz": "", "files.json": "{}", assets: {} };
  return new Pages({ folder: t.testdir(document) });
}

/** Every path that the gateway declares as built-in, and one path below each. */
function builtInRoutesOf(it: Deployment, pages: Pages): string[] {
  const { catalog, guard, health } = it;
  const roots = [health, pages, new ServedDocuments({ catalog, guard })].flatMap((own) => own.roots);
  const { routes } = catalog;
  const endpoints = [...SELF_GOVERNED, "gateway"].flatMap((service) =>
    (routes.targetsOf(service) ?? routes.own).map(({ endpoint }) => endpoint),
  );
  const called = endpoints.flatMap((endpoint) => [pathOf(endpoint), `/v1${pathOf(endpoint)}`, endpoint.path]);
  const services = [...SELF_GOVERNED].flatMap((service) => [`/${service}`, `/v1/${service}`]);
  const below = [...roots, ...services, MCP_PATH].flatMap((root) => (root === "/" ? [] : [`${root}/nothing/here`]));
  const wellKnown = ["/.well-known/oauth-authorization-server", "/.well-known/security.txt"];
  const paths = [...roots, ...called, ...services, ...below, MCP_PATH, ...METADATA_PATHS, ...wellKnown];
  // The built-in gRPC services of the gateway have only their gRPC path.
  return [...new Set(paths)].filter((path) => !/^(?:\/v1)?\/gateway\//.test(path));
}

t.test("every built-in route has precedence over every binding", async (t) => {
  const own = pages(t);
  const first = await deploy(t.testdir(), { flags: { lease: "60s" }, own: [own] });
  const paths = builtInRoutesOf(first, own);
  await first.close();
  t.ok(paths.includes("/v1/auth/Login") && paths.includes("/livez") && paths.length > 100, "the list is not empty");
  for (const path of paths) t.ok(isBuiltInRoute(path), path);

  const kinds = ["*", ...METHODS.filter((method) => method !== "OPTIONS")];
  const literal = paths.filter((path) => path !== "/").map((path) => kinds.map((kind): Rule => [kind, path]));
  const rules = [WILDCARDS.map((path): Rule => ["*", path]), ...literal];
  const it = await deploy(t.testdir(), { flags: { lease: "60s" }, own: [own], services: [greedy(rules)] });
  t.teardown(it.close);
  await until(() => it.catalog.routes.targetsOf("greedy") !== undefined);
  await ask(it.handler, { target: "/other" });
  t.match(it.dispatched.at(-1), /^service:greedy:/, "elsewhere the bindings are called");
  it.dispatched.length = 0;
  const upper = (path: string): string => path.toUpperCase();
  const encoded = (path: string): string => path.replace(/^\/(.)/, (_, one) => `/%${one.charCodeAt(0).toString(16)}`);
  for (const path of paths) {
    for (const target of new Set([path, upper(path), path === "/" ? path : encoded(path)])) {
      for (const method of METHODS) await ask(it.handler, { method, target });
    }
  }
  t.same(
    it.dispatched.filter((resource) => resource.startsWith("service:greedy")),
    [],
  );
  t.match(await ask(it.handler, { target: "/" }), { status: 302, headers: { location: "/explore" } });
  t.equal((await ask(it.handler, { target: "/favicon.ico" })).status, 404);
});

t.test("the gateway's log reports such a binding", async (t) => {
  const rules = [
    [["GET", "/{a=**}"]],
    [["GET", "/v1/{a}"]],
    [["POST", "/v1/auth/Login"]],
    [["GET", "/v1/shelves/{a}"]],
  ] as const;
  const it = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [greedy(rules)] });
  t.teardown(it.close);
  const told = it.logged.filter(({ service }) => service === "greedy").flatMap(({ problem }) => problem ?? []);
  t.same(told, [
    "greedy:Greedy.Take0: GET /{a=**} also matches paths that are Portico's own, such as /console and /v1/auth: there Portico answers",
    "greedy:Greedy.Take1: GET /v1/{a} also matches paths that are Portico's own, such as /v1/auth and /v1/registry: there Portico answers",
    "greedy:Greedy.Take2: POST /v1/auth/Login is below /v1/auth, which is Portico's own",
  ]);
});
