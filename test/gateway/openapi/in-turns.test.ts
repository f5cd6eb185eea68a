// Work on all services may have to parse their types. It leaves other requests their turns of the
// event loop.
import t from "tap";
import type { Routes } from "../../../gateway/catalog/routes.js";
import type { EndpointTarget } from "../../../gateway/catalog/target.js";
import { listedTools, search } from "../../../gateway/dialects/mcp/tools.js";
import { RequestHeaders } from "../../../gateway/http/headers.js";
import type { GatewayRequest } from "../../../gateway/http/message.js";
import { openApi } from "../../../gateway/openapi/document.js";
import { ServedDocuments } from "../../../gateway/openapi/served.js";
import type { Endpoint } from "../../../src/contract/endpoint.js";
import { until } from "../../support/until.js";
import { deploy } from "../deployment.js";

const SERVICES = 5;
/** A service with the endpoints of all libraries. */
const ALL = "libraries";
/** Longer than a turn may take. */
const PARSING_MS = 15;

const { add, catalog, guard, close } = await deploy(t.testdir());
t.teardown(close);
for (let number = 1; number <= SERVICES; number++) add({ service: `library-${number}` });
await until(() => catalog.routes.targetsOf(`library-${SERVICES}`) !== undefined);

/** The endpoints whose paths a document asked for. */
const described: string[] = [];

/** Routes whose types take long to parse. */
const routes = {
  get services() {
    return catalog.routes.services;
  },
  find: (path: string) => catalog.routes.find(path),
  bindings: {
    of(endpoint: Endpoint) {
      described.push(endpoint.name);
      return catalog.routes.bindings.of(endpoint);
    },
  },
  targetsOf(service: string) {
    if (service === ALL) return all;
    const targets = catalog.routes.targetsOf(service);
    return service.startsWith("library-") ? targets?.map(slow) : targets;
  },
} as unknown as Routes;

function slow(target: EndpointTarget): EndpointTarget {
  const { endpoint, types, style } = target;
  let isParsed = false;
  const method = (): EndpointTarget["endpoint"]["method"] => {
    for (const began = performance.now(); !isParsed && performance.now() - began < PARSING_MS; );
    isParsed = true;
    return endpoint.method;
  };
  const late = Object.defineProperty({ ...endpoint }, "method", { get: method });
  return { ...target, types, style, endpoint: late } as EndpointTarget;
}

const all = Array.from({ length: SERVICES }, (_, index) => routes.targetsOf(`library-${index + 1}`) ?? []).flat();

/** How many turns the event loop has until the work is done. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work().finally(() => (isDone = true));
  return turns;
}

t.test("the list of OpenAPI documents, and the names of all fields", async (t) => {
  const documents = new ServedDocuments({ catalog: { routes }, guard });
  for (const path of ["/openapi", "/openapi/fields"]) {
    const request = { method: "GET", rawHeaders: [], headers: new RequestHeaders() };
    let body = "";
    const turns = await turnsOf(async () => {
      const reply = await documents.reply(path, request as unknown as GatewayRequest);
      body = String(reply?.body);
    });
    t.match(body, `library-${SERVICES}`, path);
    t.ok(turns >= SERVICES, `${turns} turns`);
  }
});

t.test("the OpenAPI document of a service, which is made once for all concurrent requests", async (t) => {
  const documents = new ServedDocuments({ catalog: { routes }, guard });
  const request = { method: "GET", rawHeaders: [], headers: new RequestHeaders() };
  const ask = async () => (await documents.reply(`/openapi/${ALL}.json`, request as unknown as GatewayRequest))?.body;
  let bodies: unknown[] = [];
  const turns = await turnsOf(async () => {
    bodies = await Promise.all([ask(), ask()]);
  });
  t.ok(turns >= SERVICES, `${turns} turns`);
  t.equal(described.length, all.length, "of one document");
  const [first] = all;
  const endpoints = all.map(({ endpoint }) => endpoint);
  const bindings = catalog.routes.bindings.of.bind(catalog.routes.bindings);
  const document = openApi({ service: ALL, endpoints, types: first!.types, bindings, server: "/" });
  t.strictSame(bodies, [document, document], "as it is made at once");
});

t.test("a search of an agent", async (t) => {
  let found: object = {};
  const viewer = { caller: undefined, namespace: "default" };
  const turns = await turnsOf(async () => {
    found = await search("greets", viewer, { catalog: { routes }, guard });
  });
  t.match(found, { endpoints: [{ description: "Greets a name." }] });
  t.ok(turns >= SERVICES, `${turns} turns`);
});

t.test("the list of an agent's tools", async (t) => {
  let listed = "";
  const viewer = { caller: undefined, namespace: "default" };
  const turns = await turnsOf(async () => {
    listed = await listedTools(viewer, { catalog: { routes }, guard });
  });
  t.match(listed, `"name":"library-${SERVICES}.Call"`);
  t.ok(turns >= SERVICES, `${turns} turns`);
});
