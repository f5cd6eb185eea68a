// A service's OpenAPI document from the gateway, read as fields.
import t from "tap";
import { openApi } from "../../../gateway/openapi/document.js";
import { endpointDocument, type Field, type Message } from "../../../gateway/web/explore/document.js";
import { withoutSecrets } from "../../../gateway/web/explore/secrets.js";
import { endpointsOf, readDescriptors } from "../../../src/contract/endpoint.js";
import { compile } from "../../services/registry/compile.js";
import { shopSource } from "./shop.js";

const types = readDescriptors(compile(t.testdir({}), shopSource()));
const endpoints = endpointsOf("shop", types, ["shop.Shop"]);
const document = JSON.parse(openApi({ service: "shop", endpoints, types, server: "/" }));

const read = (endpoint: string) => endpointDocument(document, `/v1/shop/${endpoint}`)!;
const field = (message: Message | undefined, name: string) => message?.fields.find((one) => one.name === name);
const told = (one: Field | undefined) => one && `${one.cardinality} ${one.kind} ${one.type}`;

const FIELDS: readonly [name: string, told: string][] = [
  ["customer", "one string string"],
  ["number", "one number int64"],
  ["gift", "one boolean bool"],
  ["tip", "one number double"],
  ["stamp", "one bytes bytes"],
  ["delivery", "one enum Delivery"],
  ["items", "list message Item"],
  ["notes", "map string string"],
  ["placed", "one timestamp timestamp"],
  ["patience", "one duration duration"],
  ["card", "one string string"],
  ["cash", "one number int32"],
  ["extras", "one json Struct"],
  ["tags", "list string string"],
];

t.test("each kind of field, in requests and in responses", async (t) => {
  const { request, response } = read("Call");
  for (const message of [request, response]) {
    t.same(
      message?.fields.map((one) => [one.name, told(one)]),
      FIELDS,
    );
    t.equal(message?.name, "Order");
    t.same(field(message, "delivery")?.values, ["DELIVERY_UNSPECIFIED", "HERE", "AWAY"]);
    t.match(field(message, "delivery")?.meaning, "`AWAY`: Carried home.");
  }
  t.match(
    field(request, "customer")?.description,
    'Who orders, such as `Ada`. <script>document.title = "owned"</script>',
  );
  t.same(request?.choices, [["card", "cash"]], "of which one may be given");
  t.notOk(
    [...request!.fields, ...response!.fields].some(({ required }) => required),
    "what is in every answer is nothing that must be given",
  );
});

t.test("shows the fields of messages that contain themselves", async (t) => {
  let item = field(read("Call").request, "items")?.message?.();
  for (let depth = 0; depth < 20; depth++) item = field(item, "parts")?.message?.();
  t.match(item, { name: "Item" });
});

t.test("examples come from the document, and examples of streams from the comments", async (t) => {
  t.match(read("Call").example, { customer: "Ada", number: "42", items: [{ name: "tea" }] });
  t.same(read("Haggle").example, { name: "tea" });
});

t.test("a streaming endpoint is shown as such, in each direction", async (t) => {
  t.match(read("Watch"), { request: { name: "WatchRequest" }, response: { name: "Tick" } });
  t.match(read("Fill"), { request: { name: "Item" }, response: { name: "Receipt" } });
});

t.test("says whether a client stream may be sent as one body of bytes", async (t) => {
  for (const endpoint of ["Call", "Watch", "Fill", "Haggle"]) t.equal(read(endpoint).takesBytes, false, endpoint);
  t.equal(read("Store").takesBytes, true);
});

t.test("an endpoint that the document does not have is undefined, whatever its name", async (t) => {
  for (const path of ["/v1/shop/Nothing", "constructor", "__proto__"]) {
    t.equal(endpointDocument(document, path), undefined, path);
  }
});

t.test("hides each kind of field that the contract marks as secret", async (t) => {
  const source = `syntax = "proto3";
    service Safe { rpc Open(Keys) returns (Keys); }
    message Keys {
      string pin = 1 [debug_redact = true];
      repeated string codes = 2 [debug_redact = true];
      bytes blob = 3 [debug_redact = true];
      Keys inner = 4 [debug_redact = true];
      int32 number = 5 [debug_redact = true];
      string name = 6;
    }`;
  const types = readDescriptors(compile(t.testdir({}), { "safe.proto": source }));
  const endpoints = endpointsOf("safe", types, ["Safe"]);
  const text = openApi({ service: "safe", endpoints, types, server: "/" });
  const { request } = endpointDocument(JSON.parse(text), "/v1/safe/Open")!;
  const sent = { pin: "1", codes: ["1"], blob: "AQ", inner: { name: "1" }, number: 1, name: "Ada" };
  const hidden = { pin: "***", codes: "***", blob: "***", inner: "***", number: "***", name: "Ada" };
  t.strictSame(withoutSecrets(request, sent), hidden);
});
