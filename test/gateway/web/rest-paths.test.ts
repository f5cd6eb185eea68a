// The REST paths that the page of an endpoint shows, and the calls of its form and its code at
// these paths.
import t from "tap";
import { openApi } from "../../../gateway/openapi/document.js";
import { endpointDocument, type Field, type Message } from "../../../gateway/web/explore/document.js";
import { lastLineFailure, statusFailure } from "../../../gateway/web/explore/envelopes.js";
import {
  boundCall,
  canFill,
  curlOf,
  type RestPath,
  type RestRequest,
  restKey,
  restPathsOf,
} from "../../../gateway/web/explore/rest.js";
import { withoutSecrets } from "../../../gateway/web/explore/secrets.js";
import { snippetsFor } from "../../../gateway/web/explore/snippets.js";
import { endpointsOf, readDescriptors } from "../../../src/contract/endpoint.js";
import { buildAnnotated } from "../../support/descriptors.js";

const types = readDescriptors(buildAnnotated("test/gateway/dialects/http-rule", "library.proto"));
const endpoints = endpointsOf("library", types, ["library.Library"]);
const document = JSON.parse(openApi({ service: "library", endpoints, types, server: "/" }));

t.test("an endpoint has the paths of its annotations", async (t) => {
  const shown = restPathsOf(document, "Library.Get").map(({ method, path }) => `${method} ${path}`);
  t.ok(shown.includes("GET /lib/shelves/{shelvesId}") && shown.includes("DELETE /lib/shelves/{shelvesId}:purge"));
  t.notOk(
    shown.some((one) => one.includes("/lib/all")),
    "and none of another endpoint",
  );
  t.strictSame(restPathsOf(document, "Library.Talk"), []);
});

t.test("the forms of grpc-gateway are recognized, and its errors are read", async (t) => {
  const isGrpcGateway = true;
  const enveloped = JSON.parse(openApi({ service: "library", endpoints, types, server: "/", isGrpcGateway }));
  const formsOf = (described: typeof document, endpoint: string) =>
    new Set(restPathsOf(described, endpoint).map(({ envelopes }) => envelopes));
  t.same(formsOf(enveloped, "Library.Get"), new Set(["errors"]));
  // One path returns a file, which has no lines.
  t.same(formsOf(enveloped, "Library.List"), new Set(["lines", "errors"]));
  for (const endpoint of ["Library.Get", "Library.List"]) t.same(formsOf(document, endpoint), new Set([undefined]));
  const details = [{ "@type": "type.googleapis.com/google.rpc.BadRequest" }];
  const text = JSON.stringify({ code: 3, message: "wrong", details });
  t.same(statusFailure(400, text), { status: 400, detail: "wrong", details });
  t.same(statusFailure(502, "<h1>Bad Gateway</h1>"), { status: 502, detail: "" });
  t.same(lastLineFailure(`{"error":${text}}`), { status: 0, detail: "wrong", details });
  t.equal(lastLineFailure(`{"result":${text}}`), undefined);
});

const all = ["Library.Get", "Library.Put", "Library.Part"].flatMap((endpoint) => restPathsOf(document, endpoint));

function pathNamed(key: string): RestPath {
  const found = all.find((one) => restKey(one) === key);
  if (found === undefined) throw new Error(`no ${key} among ${all.map(restKey).join(", ")}`);
  return found;
}

const message = endpointDocument(document, "/v1/library/Get")?.request;

/** With the parameters of its query in order, and brackets not encoded. */
function readable({ path, ...request }: RestRequest): RestRequest {
  const [before, query] = path.split("?");
  if (query === undefined) return { ...request, path };
  const parameters = query.split("&").map((one) => one.replaceAll("%5B", "[").replaceAll("%5D", "]"));
  return { ...request, path: `${before}?${parameters.sort().join("&")}` };
}

t.test("a request is written as method, path, query and body", async (t) => {
  const rows: readonly [key: string, request: object, path: string, body?: unknown][] = [
    ["GET /lib/{name=shelves/*}", { name: "shelves/a b", tags: ["x", "y"] }, "/lib/shelves/a%20b?tags=x&tags=y"],
    [
      "GET /lib/{name=shelves/*}",
      { name: "shelves/1", book: { author: { id: "7" } }, kind: null },
      "/lib/shelves/1?book.author.id=7",
    ],
    [
      "GET /lib/{name=shelves/*}",
      {
        name: "shelves/1",
        labels: { en: "c" },
        by_number: { 7: "a" },
        byId: { x: { title: "d", author: { id: "8" } } },
      },
      "/lib/shelves/1?byId[x].author.id=8&byId[x].title=d&by_number[7]=a&labels[en]=c",
    ],
    // A slash in the value of one segment does not separate segments.
    ["GET /lib/left/{left}", { left: "a/b" }, "/lib/left/a%2Fb"],
    ["GET /lib/files/{name=**}", { name: "a/b c.txt" }, "/lib/files/a/b%20c.txt"],
    ["GET /lib/files/{name=**}", {}, "/lib/files/"],
    [
      "GET /lib/shelves/{shelf}/books/{book.id}",
      { shelf: 1, book: { id: "2", title: "x" } },
      "/lib/shelves/1/books/2?book.title=x",
    ],
    ["DELETE /lib/{name=shelves/*}:purge", { name: "shelves/1" }, "/lib/shelves/1:purge"],
    ["PUT /lib/all/{name}", { name: "a", shelf: "1" }, "/lib/all/a", { shelf: "1" }],
    [
      "POST /lib/shelves/{shelf}/books",
      { shelf: 1, book: { title: "x" }, page_size: 3 },
      "/lib/shelves/1/books?page_size=3",
      { title: "x" },
    ],
    ["POST /lib/tags", { tags: ["x"] }, "/lib/tags", ["x"]],
    // Without the field that is the body, there is no body, because an empty object is no list.
    ["POST /lib/tags", {}, "/lib/tags"],
    ["POST /lib/shelves/{shelf}/books", { shelf: 1 }, "/lib/shelves/1/books"],
  ];
  for (const [key, request, path, body] of rows) {
    const [method] = key.split(" ");
    t.strictSame(
      readable(boundCall(pathNamed(key), JSON.stringify(request), message).request as RestRequest),
      { method, path, body },
      `${key} ${JSON.stringify(request)}`,
    );
  }
});

t.test("the visitor sees why a path cannot carry a request", async (t) => {
  const rows: readonly [key: string, request: object, message: RegExp][] = [
    ["GET /lib/{name=shelves/*}", {}, /^name is a part of the path: fill it in/],
    ["GET /lib/{name=shelves/*}", { name: "racks/1" }, /^name is a part of the path: it must be like shelves\/\*/],
    ["GET /lib/left/{left}", { left: "" }, /^left is a part of the path: fill it in/],
    ["GET /lib/left/{left}", { left: ".." }, /a browser cannot send \.\. in it/],
    ["GET /lib/left/{left}", { left: { a: 1 } }, /^left is a part of the path, so it is one value/],
    ["GET /lib/left/{left}", { left: "a", books: [{}] }, /^books is a list of messages/],
    ["GET /lib/left/{left}", { left: "\ud800" }, /^left has half of a surrogate pair/],
    ["GET /lib/left/{left}", { left: "a", tags: ["\udc00"] }, /^tags has half of a surrogate pair/],
  ];
  for (const [key, request, message] of rows) {
    const { error } = boundCall(pathNamed(key), JSON.stringify(request), undefined);
    t.match(error, message, `${key} ${JSON.stringify(request)}`);
  }
});

t.test("a path whose body is bytes is shown as a call by curl, and not in the form", async (t) => {
  const file = pathNamed("POST /lib/file/{name}");
  t.equal(canFill(file), false);
  const expected = "curl -X POST -H 'Content-Type: application/octet-stream' -T file.bin 'http://x/lib/file/name'";
  t.equal(curlOf(file, "http://x"), expected);
  t.equal(canFill(pathNamed("POST /lib/tags")), true);
});

t.test("code for a call at a path is curl and fetch", async (t) => {
  const code = (request: RestRequest): Record<string, string> => {
    const call = {
      origin: "http://x",
      path: "/v1/library/Library.Get",
      shape: "unary",
      withToken: false,
      body: {},
    } as const;
    return Object.fromEntries(snippetsFor({ ...call, rest: request }).map(({ id, code }) => [id, code]));
  };
  const get = code({ method: "GET", path: "/lib/shelves/1?tags=x&tags=y", body: undefined });
  t.strictSame(Object.keys(get), ["curl", "node", "browser"]);
  t.equal(get.curl, "curl 'http://x/lib/shelves/1?tags=x&tags=y'");
  t.match(get.node, 'await fetch("http://x/lib/shelves/1?tags=x&tags=y", {\n  method: "GET",\n});');
  const patch = code({ method: "PATCH", path: "/lib/b", body: { title: "it's" } });
  const data = `-d '{"title":"it'\\''s"}'`;
  t.equal(patch.curl, `curl http://x/lib/b \\\n  -H 'Content-Type: application/json' \\\n  -X PATCH \\\n  ${data}`);
  t.match(
    patch.browser,
    'method: "PATCH",\n  headers: {\n    "Content-Type": "application/json",\n  },\n  body: JSON.stringify(',
  );
});

t.test("requests may have either name of a field, whichever the document has", async (t) => {
  for (const protoNames of [false, true]) {
    const options = { service: "library", endpoints, types, style: { protoNames }, server: "/" };
    const document = JSON.parse(openApi(options));
    const message = endpointDocument(document, "/v1/library/Get")?.request;
    const path = restPathsOf(document, "Library.Get").find((one) => restKey(one) === "GET /lib/{name=shelves/*}")!;
    for (const [size, id] of [
      ["pageSize", "byId"],
      ["page_size", "by_id"],
    ] as const) {
      const text = JSON.stringify({ name: "shelves/1", [size]: 2, [id]: { a: { title: "b" } } });
      const { request } = boundCall(path, text, message);
      t.equal(
        request && readable(request).path,
        `/lib/shelves/1?${[`${id}[a].title=b`, `${size}=2`].sort().join("&")}`,
      );
    }
  }
});

t.test("a secret is hidden under either name", async (t) => {
  const secret = { name: "api_key", secret: true } as Field;
  for (const name of ["api_key", "apiKey"]) {
    const message = { fields: [{ ...secret, name }] } as unknown as Message;
    t.same(withoutSecrets(message, { apiKey: "a", api_key: "b" }), { apiKey: "***", api_key: "***" });
  }
});
