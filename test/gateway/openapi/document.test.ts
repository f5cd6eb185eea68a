// The document of endpoints of each shape: its paths, methods, bodies and responses match the
// gateway's.
import t from "tap";
import { openApi } from "../../../gateway/openapi/document.js";
import { type Endpoint, endpointsOf, readDescriptors } from "../../../src/contract/endpoint.js";
import type { JsonStyle } from "../../../src/json/types.js";
import { compile } from "../../services/registry/compile.js";

const CONTRACT = `syntax = "proto3";
package shop.v2;
import "google/api/httpbody.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/any.proto";
// Sells things.
//
// Never on Sundays.
service Shop {
  // Buys a thing. Takes money.
  //
  // At once.
  rpc Call(Order) returns (Order);
  rpc Watch(Order) returns (stream Order);
  rpc Talk(stream Order) returns (stream Order);
  rpc Put(stream google.api.HttpBody) returns (Order);
  rpc Picture(google.api.HttpBody) returns (google.api.HttpBody);
  rpc Count(google.protobuf.Int32Value) returns (google.protobuf.Int32Value) {
    option idempotency_level = NO_SIDE_EFFECTS;
  }
  rpc Old(Order) returns (Order) { option deprecated = true; }
}
service Returns {
  rpc Call(Order) returns (Order);
}
message Order {
  // What to buy, such as \`apples\`.
  string name = 1;
  int64 amount = 2; // How many, such as \`3\`.
  bytes picture = 3;
  Order next = 4;
  map<string, int32> counts = 5;
  repeated Order others = 6;
  repeated string tags = 7;
  optional bool gift = 8;
  Size size = 9;
  string former_name = 10 [deprecated = true];
  oneof payment {
    string card = 11;
    string cash = 12;
  }
  google.protobuf.Any more = 13;
  // Only after this order; empty for all.
  string after = 14;
}
enum Size {
  ANY = 0;
  // Not large.
  SMALL = 1;
}
`;
const HTTP_BODY = `syntax = "proto3";
package google.api;
message HttpBody {
  string content_type = 1;
  bytes data = 2;
}
`;

const types = readDescriptors(compile(t.testdir(), { "shop.proto": CONTRACT, "google/api/httpbody.proto": HTTP_BODY }));
const endpoints = endpointsOf("shop", types, ["shop.v2.Shop", "shop.v2.Returns"]);

function documentOf(shown: readonly Endpoint[] = endpoints, style: JsonStyle = {}) {
  return JSON.parse(openApi({ service: "shop", endpoints: shown, types, style, server: "/" }));
}

const document = documentOf();
const { paths, components } = document;

/** The methods at each path, and the IDs of their operations. */
function operations(shown: Record<string, Record<string, { operationId?: string }>>) {
  return Object.entries(shown).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { operationId }]) =>
      operationId ? [`${method} ${path} ${operationId}`] : [],
    ),
  );
}

t.test("a document has every path and method, and a unique name for each operation", async (t) => {
  t.same(operations(paths), [
    ...["post /v1/shop/Call Shop.Call", "get /shop/Call Shop.Call-get", "post /shop/Call Shop.Call-post"],
    ...["get /shop Shop.Call-short-get", "post /shop Shop.Call-short-post"],
    ...["post /v1/shop/Watch Shop.Watch", "get /shop/Watch Shop.Watch-get", "post /shop/Watch Shop.Watch-post"],
    ...["get /v1/shop/Talk Shop.Talk-socket", "get /shop/Talk Shop.Talk-get"],
    ...["get /v1/shop/Put Shop.Put-socket", "post /v1/shop/Put Shop.Put"],
    ...["get /shop/Put Shop.Put-get", "post /shop/Put Shop.Put-post"],
    ...[
      "post /v1/shop/Picture Shop.Picture",
      "get /shop/Picture Shop.Picture-get",
      "post /shop/Picture Shop.Picture-post",
    ],
    ...["post /v1/shop/Count Shop.Count", "post /shop/Count Shop.Count-post"],
    ...["post /v1/shop/Old Shop.Old", "get /shop/Old Shop.Old-get", "post /shop/Old Shop.Old-post"],
    ...["post /v1/shop/Returns/Call Returns.Call", "get /shop/Returns/Call Returns.Call-get"],
    "post /shop/Returns/Call Returns.Call-post",
  ]);
});

t.test("viewers list each endpoint once in its gRPC service, and no two operations under one name", async (t) => {
  const listed = Object.entries<Record<string, { tags?: string[]; summary?: string }>>(paths).flatMap(([path, item]) =>
    Object.values(item).flatMap(({ tags, summary }) => (tags === undefined ? [] : [{ path, tag: tags[0], summary }])),
  );
  const summaries = listed.map(({ summary }) => summary);
  t.same([...new Set(summaries)], summaries);
  const ofShop = listed.filter(({ tag }) => tag === "Shop");
  t.same(
    ofShop.map(({ path, summary }) => `${path}: ${summary}`),
    [
      ...["/v1/shop/Call: Buys a thing", "/v1/shop/Watch: shop:Shop.Watch", "/v1/shop/Talk: shop:Shop.Talk"],
      ...["/v1/shop/Put: shop:Shop.Put (GET /v1/shop/Put)", "/v1/shop/Put: shop:Shop.Put"],
      ...["/v1/shop/Picture: shop:Shop.Picture", "/v1/shop/Count: shop:Shop.Count", "/v1/shop/Old: shop:Shop.Old"],
    ],
  );
  t.match(paths["/shop"].get, { tags: ["Unversioned paths"], summary: "Buys a thing (GET /shop)" });
  t.same(
    document.tags.map(({ name }: { name: string }) => name),
    ["Shop", "Returns", "Unversioned paths"],
  );
});

t.test("operations are described by the comments of the .proto file", async (t) => {
  t.equal(document.info.version, "v2");
  t.match(document.info.description, /^Sells things\.\n\nNever on Sundays\.\n\n/);
  t.match(paths["/v1/shop/Call"].post, {
    summary: "Buys a thing",
    description: "Buys a thing. Takes money.\n\nAt once.",
  });
  t.equal(paths["/v1/shop/Old"].post.deprecated, true);
  const { amount, formerName } = components.schemas["shop.v2.Order-output"].properties;
  t.equal(amount.description, "How many, such as `3`.");
  t.equal(formerName.deprecated, true);
  t.match(components.schemas["shop.v2.Size-output"].description, "- `SMALL`: Not large.");
});

t.test("the comment of google.protobuf.Empty, which says nothing to a caller, is left out", async (t) => {
  const contract = `syntax = "proto3"; package idle; import "google/protobuf/empty.proto";
    service Idle { rpc Rest(google.protobuf.Empty) returns (google.protobuf.Empty); }`;
  const types = readDescriptors(compile(t.testdir(), { "idle.proto": contract }));
  const endpoints = endpointsOf("idle", types, ["idle.Idle"]);
  const { components } = JSON.parse(openApi({ service: "idle", endpoints, types, style: {}, server: "/" }));
  t.same(components.schemas["google.protobuf.Empty-output"], { type: "object", properties: {} });
});

t.test("examples come from the comments, and have a limited depth", async (t) => {
  const { example } = paths["/v1/shop/Call"].post.requestBody.content["application/json"];
  t.match(example, { name: "apples", amount: "3", picture: "AQID", counts: { key: 1 }, tags: ["text"], size: "SMALL" });
  t.notOk("next" in example || "cash" in example || "formerName" in example || "more" in example);
  t.same(example.others, []);
  t.notOk("after" in example, "a request is complete without it, and an invented value may be refused");
});

t.test("operations say what the contract declares about a second call", async (t) => {
  t.equal(paths["/v1/shop/Count"].post["x-idempotency-level"], "NO_SIDE_EFFECTS");
  t.notOk("x-idempotency-level" in paths["/v1/shop/Call"].post);
});

t.test("values whose absence differs from zero are marked, in both directions", async (t) => {
  for (const direction of ["input", "output"]) {
    const { properties } = components.schemas[`shop.v2.Order-${direction}`];
    const marked = Object.keys(properties).filter((name) => properties[name]["x-explicit-presence"]);
    t.same(marked, ["gift", "card", "cash"], direction);
  }
});

t.test("paths below /v1 need a token, and other paths accept one", async (t) => {
  t.same(paths["/v1/shop/Call"].post.security, [{ bearer: [] }]);
  t.same(paths["/shop/Call"].get.security, [{}, { bearer: [] }]);
});

t.test("requests and responses have schemas of their own", async (t) => {
  const { "shop.v2.Order-output": output, "shop.v2.Order-input": input } = components.schemas;
  t.equal(input.additionalProperties, false, "unknown fields are refused");
  t.equal(output.additionalProperties, undefined, "a later version may answer with more");
  t.same(output.required, ["name", "amount", "picture", "counts", "others", "tags", "size", "formerName", "after"]);
  t.equal(input.required, undefined);
  t.same(input.properties.name.type, ["string", "null"]);
  t.equal(output.properties.name.type, "string");
  t.match(output.properties.amount, { type: "string", format: "int64" });
  t.same(input.not.anyOf[0].required, ["card", "cash"]);
  const omitting = documentOf(endpoints, { omitZeros: true }).components.schemas["shop.v2.Order-output"];
  t.equal(omitting.required, undefined, "where zeros are left out");
  const withNulls = documentOf(endpoints, { nullUnset: true }).components.schemas["shop.v2.Order-output"];
  t.match(withNulls.properties.next, { anyOf: [{}, { type: "null" }] }, "where what is not set is null");
  t.ok(withNulls.required.includes("next"));
  t.notOk(withNulls.required.includes("gift"), "an optional field");
});

t.test("a GET has the fields that a query can carry as parameters", async (t) => {
  const parameters = paths["/shop/Call"].get.parameters.filter((one: { in?: string }) => one.in === "query");
  t.same(
    parameters.map(({ name, style }: { name: string; style: string }) => `${name} ${style}`),
    [
      ...["name form", "amount form", "picture form", "counts deepObject", "tags form", "gift form", "size form"],
      ...["formerName form", "card form", "cash form", "after form"],
    ],
    "none of a message within itself, of a list of messages, of an Any",
  );
});

t.test("request bodies are JSON, a form where a field is bytes, or any raw bytes", async (t) => {
  const bodyOf = (path: string) => paths[path].post.requestBody;
  const form = bodyOf("/v1/shop/Call").content["multipart/form-data"].schema.properties;
  t.match(form.picture, { type: "string", format: "binary" });
  t.same(Object.keys(bodyOf("/v1/shop/Picture").content), ["*/*"]);
  t.same(Object.keys(bodyOf("/v1/shop/Put").content), ["*/*"]);
  t.same(Object.keys(bodyOf("/v1/shop/Count").content), ["application/json"]);
  t.equal(bodyOf("/v1/shop/Call").required, undefined, "no body is an empty object");
  t.equal(bodyOf("/v1/shop/Count").required, true, "which is no number");
});

t.test("the refusal by a limit of calls has its headers, in every operation", async (t) => {
  const operations = Object.values(paths as Record<string, Record<string, { responses?: object }>>)
    .flatMap((path) => Object.values(path))
    .filter(({ responses }) => responses !== undefined);
  t.ok(operations.length > 5);
  for (const { responses } of operations) {
    t.match(responses, { 429: { $ref: "#/components/responses/TooManyRequests" } });
  }
  for (const name of ["Retry-After", "RateLimit", "RateLimit-Policy"]) {
    t.same(components.responses.TooManyRequests.headers[name], { $ref: `#/components/headers/${name}` });
    t.ok(components.headers[name].description);
  }
});

t.test("streams are described as NDJSON, events and WebSockets", async (t) => {
  const { "x-websocket": socket, post } = paths["/v1/shop/Watch"];
  const { 200: response, 204: complete } = post.responses;
  t.same(Object.keys(response.content), ["application/x-ndjson", "text/event-stream"]);
  const order = { $ref: "#/components/schemas/shop.v2.Order-output" };
  t.same(response.content["application/x-ndjson"]["x-item-schema"].anyOf[0], order);
  t.ok(complete);
  t.same(socket, { sends: { $ref: "#/components/schemas/shop.v2.Order-input" }, receives: order });
  t.same(Object.keys(paths["/v1/shop/Talk"].get.responses), ["101", "400", "401", "403", "426", "429", "default"]);
  t.same(paths["/v1/shop/Talk"]["x-websocket"], socket);
});

t.test("a document has only the schemas that its endpoints need", async (t) => {
  const count = documentOf(endpoints.filter(({ name }) => name.endsWith(".Count")));
  t.same(Object.keys(count.components.schemas), ["gateway-error", "number-int32-input"]);
  t.notOk("UpgradeRequired" in count.components.responses);
});
