// The paths of google.api.http annotations in a document. Each wildcard is a parameter, as in
// Google's discovery documents.
import t from "tap";
import { openApi } from "../../../gateway/openapi/document.js";
import { endpointsOf, readDescriptors } from "../../../src/contract/endpoint.js";
import { bindingsOf } from "../../../src/contract/http-rule.js";
import { buildAnnotated } from "../../support/descriptors.js";

interface Operation {
  readonly operationId: string;
  readonly "x-path-template": string;
  readonly "x-resource": string;
  readonly security: readonly object[];
  readonly parameters: readonly { readonly name?: string; readonly in?: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: object }>> }>>;
}

const types = readDescriptors(buildAnnotated("test/gateway/dialects/http-rule", "library.proto"));
const endpoints = endpointsOf("library", types, ["library.Library"]);
const document = JSON.parse(openApi({ service: "library", endpoints, types, server: "/" }));
const items: Record<string, Record<string, Operation>> = Object.fromEntries(
  Object.entries(document.paths as object).filter(([, item]) => item["x-binding"] === true),
);

function operationAt(path: string, method: string): Operation {
  const operation = items[path]?.[method];
  if (operation === undefined) throw new Error(`no ${method} ${path}`);
  return operation;
}

function namesIn(where: string, { parameters }: Operation): string[] {
  return parameters.flatMap((parameter) => (parameter.in === where ? [parameter.name ?? ""] : []));
}

t.test("a template is a path with a parameter for each wildcard", async (t) => {
  const paths: Readonly<Record<string, readonly [path: string, parameters: readonly string[]]>> = {
    "get /lib/{name=shelves/*}": ["/lib/shelves/{shelvesId}", ["shelvesId"]],
    "get /lib/shelves/{shelf}/books/{book.id}": ["/lib/shelves/{shelf}/books/{book.id}", ["shelf", "book.id"]],
    "get /lib/files/{name=**}": ["/lib/files/{name}", ["name"]],
    "patch /lib/{book.name=shelves/*/books/*}": ["/lib/shelves/{shelf}/books/{book.id}", ["shelf", "book.id"]],
    "delete /lib/{name=shelves/*}:purge": ["/lib/shelves/{shelvesId}:purge", ["shelvesId"]],
  };
  for (const [binding, [path, parameters]] of Object.entries(paths)) {
    const [method = "", template = ""] = binding.split(" ");
    const operation = operationAt(path, method);
    t.equal(operation["x-path-template"], template);
    t.strictSame(namesIn("path", operation), parameters, binding);
    t.ok(operation.parameters.every((one) => one.in !== "path" || one.required));
  }
});

t.test("the query has the fields that neither path nor body sets, maps among them", async (t) => {
  const get = namesIn("query", operationAt("/lib/shelves/{shelf}/books/{book.id}", "get"));
  t.ok(get.includes("book.title") && get.includes("tags") && get.includes("labels"));
  t.notOk(get.includes("shelf") || get.includes("book.id"));
  const post = namesIn("query", operationAt("/lib/shelves/{shelf}/books", "post"));
  t.ok(post.includes("tags"));
  t.notOk(post.some((name) => name.startsWith("book.")));
  t.notOk(namesIn("query", operationAt("/lib/labels", "post")).includes("labels"), "it is the body");
  t.strictSame(namesIn("query", operationAt("/lib/all", "post")), []);
});

t.test("bodies of requests and responses are messages, fields or bytes", async (t) => {
  const schema = (operation: Operation) => operation.requestBody?.content["application/json"]?.schema;
  t.match(schema(operationAt("/lib/all", "post")), { $ref: "#/components/schemas/library.Entry-input" });
  t.match(schema(operationAt("/lib/shelves/{shelf}/books", "post")), {
    $ref: "#/components/schemas/library.Book-input",
  });
  t.match(schema(operationAt("/lib/tags", "post")), { type: "array" });
  t.strictSame(Object.keys(operationAt("/lib/file/{name}", "post").requestBody?.content ?? {}), ["*/*"]);
  t.equal(operationAt("/lib/shelves/{shelvesId}", "get").requestBody, undefined);
  const response = (path: string, method = "get") => operationAt(path, method).responses[200]?.content ?? {};
  t.match(response("/lib/parts/book"), { "application/json": { schema: { $ref: /library\.Book-output$/ } } });
  t.match(response("/lib/parts/tags"), { "application/json": { schema: { type: "array" } } });
  t.strictSame(Object.keys(response("/lib/parts/file", "post")), ["*/*"]);
  t.strictSame(Object.keys(response("/lib/shelves/{shelvesId}/list")), ["application/x-ndjson", "text/event-stream"]);
});

t.test("a path below /v1/ needs a token", async (t) => {
  t.strictSame(operationAt("/v1/lib/shelves/{shelvesId}", "get").security, [{ bearer: [] }]);
  t.strictSame(operationAt("/lib/shelves/{shelvesId}", "get").security, [{}, { bearer: [] }]);
});

t.test("operation IDs are unique, and streams that no path can carry are left out", async (t) => {
  const operations = Object.values(items).flatMap((item) =>
    Object.values(item).filter((one) => one !== (true as unknown)),
  );
  const ids = operations.map(({ operationId }) => operationId);
  t.equal(new Set(ids).size, ids.length);
  t.notOk(operations.some((one) => one["x-resource"] === "service:library:Library.Talk"));
});

t.test("the paths have the service's prefix", async (t) => {
  const bindings = ({ method }: (typeof endpoints)[number]) => bindingsOf(method, "/api").bindings;
  const { paths } = JSON.parse(openApi({ service: "library", endpoints, types, bindings, server: "/" }));
  t.ok("/api/v1/lib/shelves/{shelvesId}" in paths);
  t.strictSame(paths["/api/v1/lib/shelves/{shelvesId}"].get.security, [{}, { bearer: [] }]);
});
