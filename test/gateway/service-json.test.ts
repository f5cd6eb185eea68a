// How a service's messages look in JSON, if its options say so: names as in the .proto file, zeros
// left out, unknown names passed over. The same instance has other names without options.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { WebSocket } from "ws";
import { readContract } from "../../cli/client/contract.js";
import { writeGo } from "../../cli/client/go.js";
import { writePython } from "../../cli/client/python.js";
import { writeTypescript } from "../../cli/client/typescript.js";
import { Contracts } from "../../gateway/catalog/contracts.js";
import type { ExternalService } from "../../src/config/configured-services.js";
import { noServiceOptions } from "../../src/config/service-options.js";
import { JsonNames, RestStyle, type ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import { serveGrpc } from "../../src/rpc/grpc-js/server.js";
import type { Service } from "../../src/rpc/service.js";
import { dispatcherOf, LIMITS, listen } from "../rpc/serve.js";
import { until } from "../support/until.js";
import { ask, deploy } from "./deployment.js";
import { createLibrary } from "./dialects/http-rule/library.js";
import { send } from "./dialects/mcp/client.js";

const library = createLibrary();
const STYLES = {
  proto: { jsonNames: JsonNames.PROTO, omitZeros: true },
  full: { jsonNames: JsonNames.PROTO },
  lean: { omitZeros: true },
  lenient: { ignoreUnknown: true, omitZeros: true },
  changing: { jsonNames: JsonNames.PROTO, omitZeros: true },
  enveloped: { jsonNames: JsonNames.PROTO, omitZeros: true, rest: RestStyle.GRPC_GATEWAY },
  unset: { rest: RestStyle.GRPC_GATEWAY },
};

function servicesWith(styles: Readonly<Record<string, Partial<ServiceOptions>>>): ExternalService[] {
  return Object.entries(styles).map(([name, style]) => ({
    name,
    targets: [{ target: { host, port }, weight: 1 }],
    descriptors: undefined,
    options: { ...noServiceOptions(), bindingPrefix: `/${name}`, ...style },
  }));
}

const server = await listen(t, dispatcherOf([library]));
const { host, port } = server.address as { host: string; port: number };
const deployment = await deploy(t.testdir(), { services: [library], external: servicesWith(STYLES) });
t.teardown(() => deployment.close());
const { handler, catalog } = deployment;

async function call(target: string, message?: unknown, headers: readonly string[] = [], method = "POST") {
  const response = await ask(handler, {
    method: message === undefined ? "GET" : method,
    target,
    headers: message === undefined ? headers : ["Content-Type", "application/json", ...headers],
    body: message === undefined ? undefined : JSON.stringify(message),
  });
  return { status: response.status, body: JSON.parse(response.body) };
}

const CONNECT = ["Connect-Protocol-Version", "1"];
const GIVEN = { pageSize: 1, byNumber: { 1: "a" }, kind: "NOVEL" };
const PROTO = { kind: "NOVEL", page_size: 1, by_number: { 1: "a" } };

t.test("names as in the .proto file are written, and both names are read", async (t) => {
  t.same(await call("/proto/get", GIVEN), { status: 200, body: PROTO });
  t.same(await call("/proto/get", { ...PROTO }), { status: 200, body: PROTO });
  t.same(await call("/proto/get?page_size=1&kind=NOVEL&by_number[1]=a"), { status: 200, body: PROTO });
  t.same(await call("/proto/lib/shelves/1?pageSize=1"), {
    status: 200,
    body: { name: "shelves/1", page_size: 1 },
  });
  t.same(await call("/lean/get", PROTO), { status: 200, body: GIVEN });
  t.match(await call("/library/get", PROTO), { body: { ...GIVEN, shelf: "0", byFlag: {} } });
});

t.test("zeros of one service are left out, and its names are independent of them", async (t) => {
  const { body } = await call("/full/get", GIVEN);
  t.match(body, { ...PROTO, shelf: "0", by_flag: {}, page_size: 1 });
  t.same((await call("/lean/get", {})).body, {});
  t.not(Object.keys((await call("/library/get", {})).body).length, 0);
});

t.test("Connect, gRPC-Web, streams and agents get the names of the service", async (t) => {
  const own = [...CONNECT, "Portico-Service", "proto"];
  t.same((await call("/library.Library/Get", GIVEN, own)).body, PROTO, "Connect");
  const text = JSON.stringify(GIVEN);
  const frame = `\0${String.fromCharCode(0, 0, 0, text.length)}${text}`;
  const web = ["Content-Type", "application/grpc-web+json", ...own];
  const framed = await ask(handler, { method: "POST", target: "/library.Library/Get", headers: web, body: frame });
  t.match(framed.body, JSON.stringify(PROTO), "gRPC-Web");
  const lines = await fetch(`http://127.0.0.1:${deployment.gateway.address.port}/proto/list`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: text,
  });
  t.equal(await lines.text(), `${JSON.stringify(PROTO)}\n`.repeat(3), "lines");
  const { body } = await send(handler, "tools/call", { name: "proto.Get", arguments: GIVEN });
  t.same(body.result.structuredContent, PROTO, "MCP");
});

t.test("unknown fields, names of enum values and parameters are passed over", async (t) => {
  const message = { ...GIVEN, kind: "EPIC", book: { id: "7", colour: "red" }, later: [{ a: 1 }] };
  const read = { book: { id: "7" }, pageSize: 1, byNumber: { 1: "a" } };
  t.same(await call("/lenient/get", message), { status: 200, body: read });
  t.same(await call("/lenient/get?later=1&book.colour=red&kind=EPIC&pageSize=1"), {
    status: 200,
    body: { pageSize: 1 },
  });
  t.same(await call("/lenient/lib/shelves/1?later=1"), { status: 200, body: { name: "shelves/1" } });
  t.same(await call("/lenient/lib/all?later=1&name=x", { pageSize: 1 }), { status: 200, body: { pageSize: 1 } });
  t.same(await call("/lenient/lib/shelves/7/books?book.id=x&flag=true", { id: "1", later: 1 }), {
    status: 200,
    body: { shelf: "7", book: { id: "1" }, flag: true },
  });
  t.same(
    (await call("/library.Library/Get", message, [...CONNECT, "Portico-Service", "lenient"])).body,
    read,
    "Connect",
  );
  for (const [target, body] of [
    ["/proto/get", message],
    ["/proto/get?later=1"],
    ["/proto/lib/shelves/1?later=1"],
    ["/proto/lib/all?later=1", {}],
    ["/proto/lib/shelves/7/books?book.id=x", {}],
    ["/lenient/get", { pageSize: "x" }],
    ["/lenient/get?pageSize=x"],
  ] as const) {
    t.equal((await call(target, body)).status, 400, target);
  }
});

t.test("parameters of Google's clients are passed over at REST paths", async (t) => {
  const system = "$alt=json&alt=json&$fields=name&fields=name&key=k&prettyPrint=true&$.xgafv=2";
  t.same(await call(`/proto/lib/shelves/1?${system}&page_size=1`), {
    status: 200,
    body: { name: "shelves/1", page_size: 1 },
  });
  t.equal((await call(`/lib/shelves/1?${system}`)).status, 200, "of a service without options");
  t.equal((await call(`/lib/all?${system}`, {})).status, 200, "where all fields are in the body");
  t.match(await call(`/proto/get?${system}`), { status: 400 }, "and nowhere else");
  // A service whose message has a field `key` instead of `page_size`.
  const descriptors = Buffer.from(changed(library.descriptors, (field) => rename(field, "page_size", "key")));
  const keyed = servicesWith({ keyed: {} }).map((one) => ({ ...one, descriptors }));
  deployment.configure([...servicesWith(STYLES), ...keyed]);
  t.teardown(() => deployment.configure(servicesWith(STYLES)));
  await until(() => catalog.routes.targetsOf("keyed") !== undefined);
  t.match(
    await call("/keyed/lib/shelves/1?alt=json&key=7"),
    { status: 200, body: { key: 7 } },
    "unless they are fields",
  );
  t.match(await call("/lib/shelves/1?keys=k"), { status: 400, body: { Detail: /keys: no such parameter/ } });
});

t.test("documents, searches and tools have the names of the service", async (t) => {
  const document = async (service: string) => (await call(`/openapi/${service}.json`)).body;
  const [proto, full, lenient] = [await document("proto"), await document("full"), await document("lenient")];
  const schemas = proto.components.schemas;
  for (const direction of ["input", "output"]) {
    const { properties, required, additionalProperties } = schemas[`library.Entry-${direction}`];
    t.ok("page_size" in properties && !("pageSize" in properties), direction);
    t.equal(required, undefined, "no response has all fields");
    t.equal(additionalProperties, direction === "input" ? false : undefined);
  }
  t.ok(full.components.schemas["library.Entry-output"].required.includes("page_size"));
  t.equal(lenient.components.schemas["library.Entry-input"].additionalProperties, undefined);
  t.match(proto.info.description, /^Fields are named as in the \.proto file\./m);
  t.match(lenient.info.description, /passed over/);
  const names = (path: string) => proto.paths[path].get.parameters.map(({ name }: { name?: string }) => name);
  t.ok(names("/proto/Get").includes("page_size"));
  t.ok(names("/proto/lib/shelves/{shelvesId}").includes("page_size"));
  const example = proto.paths["/proto/Get"].post.requestBody.content["application/json"].example;
  t.ok("page_size" in example);

  const contract = readContract("proto", JSON.stringify(proto));
  t.notMatch(contract.comment, /Fields are named/);
  t.match(writeTypescript(contract), /^ {2}readonly page_size\?: number;$/m);
  t.match(writePython(contract), /^ {4}page_size: int = 0$/m);
  t.match(writeGo(contract), /PageSize\s+int32\s+`json:"page_size,omitempty"`/);

  const fields = (await call("/openapi/fields")).body.services;
  t.ok(fields.proto["Library.Get"].includes("page_size") && fields.lean["Library.Get"].includes("pageSize"));
  const toolOf = async (name: string) => {
    const { body } = await send(handler, "tools/call", { name: "describe_endpoint", arguments: { name } });
    return body.result.structuredContent;
  };
  const properties = { page_size: {} };
  const tool = await toolOf("proto.Get");
  t.match(tool, { inputSchema: { properties }, outputSchema: { properties } });
  t.equal(tool.outputSchema.required, undefined);
  t.match(await toolOf("library.Get"), {
    inputSchema: { properties: { pageSize: {} }, additionalProperties: false },
    outputSchema: { required: [/./] },
  });
});

t.test("the document of a service for clients of grpc-gateway has the lines and errors that it sends", async (t) => {
  const { paths, components } = (await call("/openapi/enveloped.json")).body;
  const { 200: success, default: failure } = paths["/enveloped/lib/shelves/{shelvesId}/list"].get.responses;
  const { example, "x-item-schema": lines } = success.content["application/json"];
  const output = { $ref: "#/components/schemas/library.Entry-output" };
  const error = { $ref: "#/components/schemas/grpc-gateway-error" };
  t.match(lines.anyOf, [{ properties: { result: output } }, { properties: { error } }]);
  t.match(failure.content["application/json"].schema, error);
  const { properties, required } = components.schemas["library.Entry-output"];
  t.equal(required, undefined);
  t.ok("page_size" in JSON.parse(example).result);

  const origin = `http://127.0.0.1:${deployment.gateway.address.port}`;
  const response = await fetch(`${origin}/enveloped/lib/shelves/1/list?page_size=1`);
  const [line = ""] = (await response.text()).split("\n");
  t.same(JSON.parse(line), { result: { name: "shelves/1", page_size: 1 } });
  for (const name of Object.keys(JSON.parse(line).result)) t.ok(name in properties, name);
  const failed = await call("/enveloped/lib/fail/7");
  t.match(failed.body, { code: 5, message: "no such shelf" });
  for (const name of Object.keys(failed.body)) t.ok(name in components.schemas["grpc-gateway-error"].properties, name);
});

t.test("the document of a service that writes null for what is not set allows null", async (t) => {
  const { components } = (await call("/openapi/unset.json")).body;
  const { properties, required } = components.schemas["library.Entry-output"];
  t.ok(required.includes("book"));
  t.match(properties.book.anyOf, [{ $ref: /Book-output$/ }, { type: "null" }]);
  t.match(await call("/unset/lib/shelves/1"), { status: 200, body: { name: "shelves/1", book: null } });
});

t.test("a call keeps the options with which it began", async (t) => {
  const socket = new WebSocket(`ws://127.0.0.1:${deployment.gateway.address.port}/changing/talk`);
  const received: string[] = [];
  socket.onmessage = ({ data }) => received.push(String(data));
  await new Promise((resolve) => (socket.onopen = resolve));
  socket.send(JSON.stringify(GIVEN));
  await until(() => received.length === 1);
  const before = catalog.routes.targetsOf("changing");
  deployment.configure(servicesWith({ ...STYLES, changing: STYLES.lean }));
  await until(() => ![before, undefined].includes(catalog.routes.targetsOf("changing")));
  socket.send(JSON.stringify(PROTO));
  await until(() => received.length === 2);
  t.same(received, [JSON.stringify(PROTO), JSON.stringify(PROTO)], "the stream");
  t.same((await call("/changing/get", PROTO)).body, GIVEN, "a new call");
  socket.close();
});

t.test("the authority and the registry have no options", async (t) => {
  const [descriptors, grpcServices] = [Buffer.from(library.descriptors), ["library.Library"]];
  const options = { ...noServiceOptions(), ...STYLES.proto, ignoreUnknown: true };
  const contracts = new Contracts({ omitZeros: true });
  const styleOf = (service: string) => contracts.hold({ service, descriptors, grpcServices, options }).schema.style;
  for (const service of ["auth", "registry"]) {
    t.match(styleOf(service), { omitZeros: false, protoNames: false, ignoreUnknown: false }, service);
  }
  t.match(styleOf("shop"), { omitZeros: true, protoNames: true, ignoreUnknown: true });
});

t.test("a service of grpc-gateway's clients writes null for what is not set, unless zeros are left out", async (t) => {
  const [descriptors, grpcServices] = [Buffer.from(library.descriptors), ["library.Library"]];
  const contracts = new Contracts({});
  for (const [omitZeros, rest, nullUnset] of [
    [false, RestStyle.GRPC_GATEWAY, true],
    [true, RestStyle.GRPC_GATEWAY, false],
    [false, RestStyle.REST_STYLE_UNSPECIFIED, false],
  ] as const) {
    const options = { ...noServiceOptions(), omitZeros, rest };
    t.match(contracts.hold({ service: "shop", descriptors, grpcServices, options }).schema.style, { nullUnset });
  }
});

t.test("a server that is found to have another contract keeps the service's options", async (t) => {
  const serve = (service: Service, port = 0) => serveGrpc(dispatcherOf([service]), { host: "127.0.0.1", port }, LIMITS);
  const first = await serve(library);
  const { port } = first.address as { port: number };
  const target = { host: "127.0.0.1", port };
  const moved = servicesWith({ moved: STYLES.proto }).map((one) => ({ ...one, targets: [{ target, weight: 1 }] }));
  const others = servicesWith(STYLES);
  deployment.configure([...others, ...moved]);
  t.teardown(() => deployment.configure(others));
  await until(() => catalog.routes.targetsOf("moved") !== undefined);
  t.same(await call("/moved/get", { pageSize: 1 }), { status: 200, body: { page_size: 1 } });

  await first.close(0);
  const newer = await serve(
    {
      ...library,
      descriptors: changed(library.descriptors, (field) => (field.name === "page_size" ? undefined : field)),
    },
    port,
  );
  t.teardown(() => newer.close(0));
  const unknown = async () => (await call("/moved/get", { pageSize: 1 })).status === 400;
  await until(unknown, { what: () => "the gateway has read the contract of the new server" });
  t.same(await call("/moved/get", { byNumber: { 1: "a" } }), { status: 200, body: { by_number: { 1: "a" } } });
});

type Field = FileDescriptorProto["messageType"][number]["field"][number];

/** Descriptors with other fields. @param change undefined for a field that is left out */
function changed(descriptors: Uint8Array, change: (field: Field) => Field | undefined): Uint8Array {
  const set = fromBinary(FileDescriptorSetSchema, descriptors);
  for (const { messageType } of set.file) {
    for (const type of messageType) type.field = type.field.flatMap((field) => change(field) ?? []);
  }
  return toBinary(FileDescriptorSetSchema, set);
}

function rename(field: Field, name: string, other: string): Field {
  return field.name === name ? { ...field, name: other, jsonName: other } : field;
}
