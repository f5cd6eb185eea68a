// Other viewers show the documents without an error, and list no two operations under one name.
// Scalar still logs a warning: it expects `type` in every schema, which JSON Schema does not. With
// a list of types beside each anyOf, openapi-python-client leaves out endpoints.
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { npmFiles } from "../../outside/tools.js";
import { FULL } from "../../support/full.js";
import { ask, deploy } from "../deployment.js";
import { createLibrary } from "../dialects/http-rule/library.js";
import { launch, untilTrue } from "../web/browser.js";
import { createKinds } from "./kinds.js";

t.setTimeout(600_000);

interface Viewer {
  readonly name: string;
  readonly requirement: string;
  readonly script: string;
  readonly style?: string;
  /** The body of a page that loads /viewer.js and shows /document.json. */
  readonly body: string;
  /** Selects the names of the operations, for a viewer that lists them at once. */
  readonly names?: string;
  /** The document that it shows in CI. In a full run each viewer shows all. */
  readonly sample: "kinds" | "library";
}

const VIEWERS: readonly Viewer[] = [
  {
    name: "Scalar",
    sample: "kinds",
    requirement: "@scalar/api-reference@1.46.4",
    script: "dist/browser/standalone.js",
    body: `<div id="app"></div><script src="/viewer.js"></script><script>
      Scalar.createApiReference("#app", { url: "/document.json", telemetry: false, withDefaultFonts: false })</script>`,
  },
  {
    name: "Swagger UI",
    sample: "library",
    requirement: "swagger-ui-dist@5.35.0",
    script: "swagger-ui-bundle.js",
    style: "swagger-ui.css",
    body: `<div id="app"></div><script src="/viewer.js"></script><script>
      SwaggerUIBundle({ url: "/document.json", dom_id: "#app" })</script>`,
    names: ".opblock-summary-description",
  },
  {
    name: "Redoc",
    sample: "kinds",
    requirement: "redoc@2.5.4",
    script: "bundles/redoc.standalone.js",
    body: `<div id="app"></div><script src="/viewer.js"></script><script>
      Redoc.init("/document.json", {}, document.getElementById("app"))</script>`,
    names: "li[data-item-id*='operation/'] > label > span:last-of-type",
  },
  {
    name: "Elements",
    sample: "library",
    requirement: "@stoplight/elements@9.0.25",
    script: "web-components.min.js",
    style: "styles.min.css",
    body: `<elements-api apiDescriptionUrl="/document.json" router="hash"></elements-api><script src="/viewer.js"></script>`,
  },
];

/**
 * Redoc 2.5.4 cannot show a message that has fields with the names of members of Object.prototype:
 * it takes `constructor` and `hasOwnProperty` for its own functions, and fails when it calls them.
 */
function withoutPrototype(document: string): string {
  const { paths, components, ...rest } = JSON.parse(document);
  const kept = (all: object) => Object.fromEntries(Object.entries(all).filter(([name]) => !/Prototype/.test(name)));
  const schemas = kept(components.schemas);
  return JSON.stringify({ ...rest, paths: kept(paths), components: { ...components, schemas } });
}

const deployment = await deploy(t.testdir({ data: {} }), { services: [createKinds(), createLibrary()] });
t.teardown(() => deployment.close());
const documents = new Map<string, string>();
for (const name of ["kinds", "library"]) {
  const { body } = await ask(deployment.handler, { target: `/openapi/${name}.json` });
  documents.set(name, String(body));
}
const published = readdirSync("spec").filter((name) => name !== "index.json");
for (const file of published) {
  documents.set(file.replace(".json", ""), readFileSync(join("spec", file), "utf8"));
}
const browser = await launch(t);

/** Serves the page of a viewer. Returns its origin. */
async function serve(t: Test, { requirement, script, style, body }: Viewer, document: string): Promise<string> {
  const folder = npmFiles(requirement);
  const sheet = style === undefined ? "" : `<link rel="stylesheet" href="/viewer.css">`;
  const files = new Map([
    ["/", ["text/html", `<!doctype html><link rel="icon" href="data:,">${sheet}${body}`]],
    ["/viewer.js", ["text/javascript", readFileSync(join(folder, script), "utf8")]],
    ["/viewer.css", ["text/css", style === undefined ? "" : readFileSync(join(folder, style), "utf8")]],
    ["/document.json", ["application/json", document]],
  ]);
  const server = createServer(({ url = "" }, response) => {
    const [type, text] = files.get(url.replace(/\?.*/, "")) ?? [];
    response.writeHead(type === undefined ? 404 : 200, { "content-type": `${type}; charset=utf-8` }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Shows a document. Returns the errors of the page, and the names of the operations. */
async function show(t: Test, viewer: Viewer, document: string): Promise<{ errors: string[]; names: string[] }> {
  const origin = await serve(t, viewer, document);
  const page = await browser.newPage({ baseURL: origin });
  t.teardown(() => page.close());
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  page.on("console", (message) => {
    const { url } = message.location();
    const isOwn = url === "" || url.startsWith(origin);
    if (message.type() === "error" && isOwn) errors.push(message.text());
  });
  // Viewers ask their makers' servers, which has nothing to do with the document.
  await page.route(
    (url) => url.origin !== origin,
    (route) => route.fulfill({ body: "" }),
  );
  await page.goto("/");
  const tags = JSON.parse(document).tags as { name: string }[];
  const shown = JSON.stringify(tags[0]?.name.toLowerCase());
  await untilTrue(page, `document.body.innerText.toLowerCase().includes(${shown})`).catch((error: Error) =>
    errors.push(error.message),
  );
  if (viewer.names !== undefined) await page.locator(viewer.names).first().waitFor({ state: "attached" });
  const names = viewer.names === undefined ? [] : await page.locator(viewer.names).allTextContents();
  return { errors, names };
}

for (const viewer of VIEWERS) {
  for (const [name, document] of documents) {
    if (!FULL && name !== viewer.sample) continue;
    t.test(`${viewer.name} shows ${name}`, async (t) => {
      const shown = viewer.name === "Redoc" && name === "kinds" ? withoutPrototype(document) : document;
      const { errors, names } = await show(t, viewer, shown);
      t.same(errors, []);
      t.same(
        names.filter((one, index) => names.indexOf(one) !== index),
        [],
        "no two operations have one name",
      );
      if (viewer.names !== undefined) t.ok(names.length > 0);
    });
  }
}
