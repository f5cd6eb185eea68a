// The REST paths that the page of an endpoint shows, and their calls by curl.
import t from "tap";
import { openApi } from "../../../gateway/openapi/document.js";
import { curlOf, restPathsOf } from "../../../gateway/web/explore/rest.js";
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

t.test("a call by curl has method, token and body where they are needed", async (t) => {
  const calls: Readonly<Record<string, string>> = {
    "GET /lib/shelves/{shelvesId}": "curl 'http://x/lib/shelves/shelvesId'",
    "GET /v1/lib/shelves/{shelvesId}":
      "curl -H \"Authorization: Bearer $PORTICO_TOKEN\" 'http://x/v1/lib/shelves/shelvesId'",
    "DELETE /lib/shelves/{shelvesId}:purge": "curl -X DELETE 'http://x/lib/shelves/shelvesId:purge'",
    "POST /lib/tags": "curl -X POST -H 'Content-Type: application/json' -d '{}' 'http://x/lib/tags'",
    "POST /lib/file/{name}":
      "curl -X POST -H 'Content-Type: application/octet-stream' -T file.bin 'http://x/lib/file/name'",
  };
  const all = ["Library.Get", "Library.Put"].flatMap((endpoint) => restPathsOf(document, endpoint));
  for (const [name, expected] of Object.entries(calls)) {
    const found = all.find(({ method, path }) => `${method} ${path}` === name);
    t.equal(found && curlOf(found, "http://x"), expected, name);
  }
});
