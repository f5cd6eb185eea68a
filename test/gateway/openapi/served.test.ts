// Documents that the gateway serves. Each caller sees the endpoints that it may call, and changes
// of the catalog change the documents.
import { readFileSync } from "node:fs";
import t from "tap";
import { Routes } from "../../../gateway/catalog/routes.js";
import { RequestHeaders } from "../../../gateway/http/headers.js";
import type { GatewayRequest } from "../../../gateway/http/message.js";
import { ServedDocuments } from "../../../gateway/openapi/served.js";
import { ADMIN_PASSWORD, ask, deploy, login, post } from "../deployment.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const { handler } = deployment;
const admin = await login(handler, "admin");

async function get(path: string, token?: string, ...headers: string[]) {
  const authorization = token === undefined ? [] : ["Authorization", `Bearer ${token}`];
  const {
    status,
    body,
    headers: answered,
  } = await ask(handler, { target: path, headers: [...authorization, ...headers] });
  return { status, headers: answered, body: JSON.parse(body) };
}

/** The endpoints in a document, by the paths that need a token. */
async function endpoints(service: string, token?: string, ...headers: string[]): Promise<string[]> {
  const { body } = await get(`/openapi/${service}.json`, token, ...headers);
  return Object.keys(body.paths ?? {}).filter((path) => path.startsWith("/v1/"));
}

const asAdmin = (path: string, message: object) => post(handler, path, message, admin);
const rule = (id: string, scope: string, resource: string) =>
  asAdmin("/v1/auth/Rules/Create", { rule: { id, scope, resource, access: "GRANTED" } });

await asAdmin("/v1/auth/Accounts/Create", { name: "bob", password: ADMIN_PASSWORD, scopes: ["staff"] });
const bob = await login(handler, "bob");

t.test("the served document is the published one with another address", async (t) => {
  for (const service of ["auth", "helloworld", "registry"]) {
    const published = JSON.parse(readFileSync(`spec/${service}.json`, "utf8"));
    const { status, headers, body } = await get(`/openapi/${service}.json`, admin);
    t.equal(status, 200);
    t.equal(headers["content-type"], "application/json");
    t.same(body, { ...published, servers: [{ url: "/" }] });
  }
});

t.test("the index names the services that the caller may call", async (t) => {
  const { body } = await get("/openapi");
  t.same(
    body.services.map(({ name }: { name: string }) => name),
    ["auth", "gone", "helloworld", "probe", "registry"],
  );
  const summary =
    "Greets people. The smallest whole service: one endpoint that answers once, one that answers many times.";
  t.same(body.services[2], { name: "helloworld", summary, document: "/openapi/helloworld.json" });
});

t.test("one document has all field names of the endpoints that the caller may call", async (t) => {
  const { status, body } = await get("/openapi/fields", admin);
  t.equal(status, 200);
  const { helloworld, auth } = body.services;
  t.same(Object.keys(helloworld).sort(), ["Helloworld.Call", "Helloworld.Stream"]);
  t.same([...helloworld["Helloworld.Call"]].sort(), ["message", "msg", "name"]);
  t.ok(auth["Rules.Explain"].includes("decidedBy"), "in lowerCamelCase");
  t.ok(auth["Rules.Explain"].includes("priority"), "those of messages inside");
  const open = (await get("/openapi/fields")).body.services;
  t.notOk("Rules.Explain" in (open.auth ?? {}), "not what only administrators may call");
});

t.test("the index is also at the path of its file in spec/", async (t) => {
  const { status, body } = await get("/openapi/index.json");
  t.equal(status, 200);
  t.same(body, (await get("/openapi")).body);
});

t.test("names match in any case", async (t) => {
  t.same((await get("/openapi/HelloWorld.json")).body, (await get("/openapi/helloworld.json")).body);
});

t.test("each caller is shown what it may call", async (t) => {
  await asAdmin("/v1/auth/Rules/Delete", { id: "default" });
  await rule("staff", "staff", "service:helloworld:Helloworld.Call");
  t.same(await endpoints("helloworld", bob), ["/v1/helloworld/Call"]);
  t.same(await endpoints("helloworld", admin), ["/v1/helloworld/Call", "/v1/helloworld/Stream"], "all of them");
  t.same(await endpoints("helloworld"), []);
  t.same(await endpoints("helloworld", bob, "Platform-Namespace", "elsewhere"), [], "a token counts in its namespace");
  t.same(await endpoints("auth"), ["/v1/auth/Login", "/v1/auth/Refresh"], "rules do not govern the authority");
  t.same(
    (await endpoints("auth", admin)).filter((path) => /Policy/.test(path)),
    [],
    "none for enrolled callers",
  );
  await rule("everyone", "<public>", "service:helloworld:Helloworld.Stream");
  t.same(await endpoints("helloworld"), ["/v1/helloworld/Stream"], "as soon as the rule holds");
});

t.test("a document that a caller may not see gets the same response as one that does not exist", async (t) => {
  const notFound = (Detail: string) => ({ Id: "gateway", Code: 404, Detail, Status: "Not Found" });
  const hidden = await get("/openapi/probe.json", bob);
  t.same(hidden.body, notFound('There is no service "probe" to be seen'));
  t.equal(hidden.status, 404);
  const near = notFound('There is no service "helloword" to be seen; did you mean helloworld?');
  t.same((await get("/openapi/helloword.json", bob)).body, near);
  t.same(
    (await get("/openapi/prob.json", bob)).body,
    notFound('There is no service "prob" to be seen'),
    "nor hinted at",
  );
  const { body } = await get("/openapi", bob);
  t.notMatch(JSON.stringify(body), /probe/);
});

t.test("a refused document gets the same response as any other refused path", async (t) => {
  t.equal((await get("/openapi", bob, "Platform-Namespace", "No Namespace")).status, 400);
  t.equal((await get("/openapi", bob, "Authorization", "Bearer x")).status, 400, "two tokens");
  t.equal((await get("/openapi/helloworld")).status, 404);
  const { status, headers } = await ask(handler, { method: "DELETE", target: "/openapi" });
  t.equal(status, 405);
  t.equal(headers.allow, "GET, HEAD, OPTIONS");
});

/**
 * Changes a registration. Resolves when the catalog has received it, which takes some turns of the
 * event loop.
 */
async function registered<T>(change: () => T): Promise<T> {
  const { routes } = deployment.catalog;
  const before = routes.targetsOf("greeter");
  const result = change();
  while (routes.targetsOf("greeter") === before) await new Promise((resolve) => setImmediate(resolve));
  return result;
}

t.test("documents follow the catalog, without a restart", async (t) => {
  const greeter = { service: "greeter", addresses: ["127.0.0.1:1"] };
  const old = ["/v1/greeter/Call", "/v1/greeter/Stream"];
  t.equal((await get("/openapi/greeter.json", admin)).status, 404);
  const leave = await registered(() => deployment.add({ ...greeter, id: "old" }));
  t.same(await endpoints("greeter", admin), old);
  const grpcServices = ["id.Id"];
  const leaveNewer = await registered(() => deployment.add({ ...greeter, id: "new", grpcServices }));
  t.same(
    await endpoints("greeter", admin),
    [...old, ...["Generate", "Types"].map((name) => `/v1/greeter/${name}`)],
    "of all its instances",
  );
  await registered(leaveNewer);
  t.same(await endpoints("greeter", admin), old);
  await registered(leave);
  t.equal((await get("/openapi/greeter.json", admin)).status, 404);
});

t.test(
  "a method other than GET is refused, whatever the response to GET would be, and ends nothing else",
  async (t) => {
    const rejected: unknown[] = [];
    const onRejection = (reason: unknown): void => void rejected.push(reason);
    process.on("unhandledRejection", onRejection);
    t.teardown(() => process.off("unhandledRejection", onRejection));
    const statusOf = async (method: string, target: string) => (await ask(handler, { method, target })).status;
    for (const target of ["/openapi", "/openapi/helloworld.json", "/openapi/nothing.json"]) {
      t.equal(await statusOf("POST", target), 405, target);
      t.equal(await statusOf("OPTIONS", target), 204, target);
    }
    await new Promise((resolve) => setImmediate(resolve));
    t.same(rejected, []);
  },
);

const ANONYMOUS = { headers: new RequestHeaders(), rawHeaders: [] as string[] } as unknown as GatewayRequest;

t.test(
  "the gateway's address is the configured one, or else the address from which the document was read",
  async (t) => {
    const servers = async (publicUrl?: string) => {
      const documents = new ServedDocuments({ ...deployment, publicUrl });
      const { body } = (await documents.reply("/openapi/registry.json", ANONYMOUS))!;
      return JSON.parse(String(body)).servers;
    };
    t.same(await servers(), [{ url: "/" }]);
    t.same(await servers("https://api.example.com"), [{ url: "https://api.example.com" }]);
  },
);

t.test("before the catalog has arrived the response says so, instead of an empty list", async (t) => {
  const documents = new ServedDocuments({ ...deployment, catalog: { routes: new Routes() } });
  await t.rejects(documents.reply("/openapi", ANONYMOUS)!, { message: "The catalog of services has not arrived yet" });
});
