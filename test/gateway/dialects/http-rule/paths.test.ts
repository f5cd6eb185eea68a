// Which endpoint a binding's path calls, who may call it there, and how bindings that are not
// served are reported to the operator.
import t, { type Test } from "tap";
import { buildAnnotated } from "../../../support/descriptors.js";
import { until } from "../../../support/until.js";
import { ask, deploy, login, post } from "../../deployment.js";
import { createEverything, createLibrary } from "./library.js";

t.test("the rules decide by the endpoint, at its bindings as at its other paths", async (t) => {
  const it = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [createLibrary()] });
  t.teardown(it.close);
  t.equal((await ask(it.handler, { target: "/lib/shelves/1" })).status, 200);
  t.equal(it.decided.at(-1), "service:library:Library.Get");
  const admin = await login(it.handler, "admin");
  const rule = { id: "no", scope: "<public>", access: "DENIED", resource: "service:library:Library.Get", priority: 1 };
  await post(it.handler, "/v1/auth/Rules/Create", { rule }, admin);
  const refused = await ask(it.handler, { target: "/lib/shelves/1" });
  t.match(JSON.parse(refused.body), {
    Id: "library",
    Code: 401,
    Detail: "Unauthorized call made to library:Library.Get",
  });
  t.equal((await ask(it.handler, { method: "PUT", target: "/lib/all/n" })).status, 200, "another endpoint");
  const logged = it.logged.findLast(({ status }) => status === 401);
  t.match(logged, { endpoint: "library:Library.Get", path: undefined }, "no value of the path is logged");
});

t.test("a path below /v1/ needs a token, in every spelling", async (t) => {
  const it = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [createLibrary(), createEverything()] });
  t.teardown(it.close);
  const token = await login(it.handler, "admin");
  const cause = /^Unauthorized call made to .*; below \/v1\/ a valid token is needed, besides a rule that grants$/;
  for (const target of ["/v1/lib/shelves/1", "/%761/lib/other", "/V1/lib/other", "/v1"]) {
    t.match(JSON.parse((await ask(it.handler, { target })).body), { Code: 401, Detail: cause }, target);
    const headers = ["Authorization", `Bearer ${token}`];
    t.equal((await ask(it.handler, { target, headers })).status, 200, target);
  }
  const [namespace, bad] = [
    ["Platform-Namespace", "other"],
    ["Authorization", "Bearer nonsense"],
  ];
  t.equal((await ask(it.handler, { target: "/v1/lib/shelves/1", headers: namespace })).status, 401);
  t.equal((await ask(it.handler, { target: "/v1/lib/shelves/1", headers: bad })).status, 401);
  t.equal((await ask(it.handler, { target: "/lib/shelves/1", headers: bad })).status, 200, "elsewhere it is nobody's");
});

t.test("each path has the prefix in front, so that it needs no token", async (t) => {
  const it = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [createLibrary("library", "/api")] });
  t.teardown(it.close);
  t.equal((await ask(it.handler, { target: "/api/v1/lib/shelves/1" })).status, 200);
  t.equal((await ask(it.handler, { target: "/v1/lib/shelves/1" })).status, 404);
  t.equal((await ask(it.handler, { target: "/lib/shelves/1" })).status, 404);
});

t.test("the path of an endpoint by its name, and built-in routes, have precedence over bindings", async (t) => {
  const it = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [createEverything(), createLibrary()] });
  t.teardown(it.close);
  const everything = await ask(it.handler, { target: "/some/path" });
  t.match(JSON.parse(everything.body), { name: "some/path" });
  t.match(JSON.parse((await ask(it.handler, { target: "/helloworld/call?name=Ada" })).body), { message: "Hello Ada" });
  t.equal((await ask(it.handler, { target: "/livez" })).body, (await ask(it.handler, { target: "/livez" })).body);
  t.notMatch((await ask(it.handler, { target: "/livez" })).body, /"name"/);
  for (const target of ["/console/x", "/%63onsole/x", "/openapi/none.json", "/metrics"]) {
    t.equal((await ask(it.handler, { target })).status, 404, target);
  }
});

t.test("another method is refused with the list of the path's methods", async (t) => {
  const it = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [createLibrary()] });
  t.teardown(it.close);
  const refused = await ask(it.handler, { method: "POST", target: "/lib/shelves/1" });
  t.match(refused, { status: 405, headers: { allow: "GET, HEAD, OPTIONS" } });
  const options = await ask(it.handler, { method: "OPTIONS", target: "/lib/any/1" });
  t.match(options, { status: 204, headers: { allow: "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT" } });
  t.equal((await ask(it.handler, { target: "/lib/nothing/here" })).status, 404);
});

t.test("bindings that are not served as declared are reported when the service joins", async (t) => {
  const it = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [createLibrary()] });
  t.teardown(it.close);
  const told = (service: string) =>
    it.logged.filter((line) => line.service === service && "problem" in line).map(({ problem }) => problem);
  t.strictSame(told("library"), [
    "library:Library.Shadow: GET /lib/{nothing}: library.Entry has no field nothing",
    "library:Library.Shadow: GET /library/library/get is never called: /library/library/get is the path of an endpoint by its name",
    "library:Library.Shadow: GET /console/{name} is below /console, which is Portico's own",
  ]);
  const { descriptors } = createLibrary();
  const leave = it.add({ service: "annex", descriptors: Buffer.from(descriptors), grpcServices: ["library.Library"] });
  const collision =
    "annex:Library.Get: GET /lib/shelves/* is a binding of library:Library.Get too; it calls annex:Library.Get";
  await until(() => told("annex").includes(collision));
  const idOf = async () => JSON.parse((await ask(it.handler, { target: "/lib/fail/1" })).body).Id;
  t.equal(await idOf(), "annex", "the service whose name sorts first is called, whoever came first");
  leave();
  await until(() => it.catalog.routes.targetsOf("annex") === undefined);
  t.equal(await idOf(), "library");
});

/** A contract of a help desk, with the endpoints that `methods` declares. */
function ticketsOf(t: Test, methods: string): { descriptors: Buffer; grpcServices: string[] } {
  const proto = `syntax = "proto3"; package tickets; import "google/api/annotations.proto";
    message Ticket {} service Tickets { ${methods} }`;
  const folder = t.testdir({ "tickets.proto": proto });
  return { descriptors: buildAnnotated(folder, "tickets.proto"), grpcServices: ["tickets.Tickets"] };
}

const CALL = "rpc Call(Ticket) returns (Ticket);";
const CREATE = 'rpc Create(Ticket) returns (Ticket) { option (google.api.http) = { post: "/tickets" body: "*" }; }';

t.test("a problem of a binding that is gone is retracted", async (t) => {
  const it = await deploy(t.testdir(), { flags: { lease: "60s" } });
  t.teardown(it.close);
  const leave = it.add({ service: "tickets", ...ticketsOf(t, CALL + CREATE) });
  const problem =
    "tickets:Tickets.Create: POST /tickets is never called: /tickets is the path of an endpoint by its name";
  await until(() => it.logged.some((line) => line.problem === problem));
  it.add({ service: "tickets", id: "2", ...ticketsOf(t, CREATE) });
  leave();
  await until(() => it.logged.some((line) => line.solved === problem));
  t.equal(
    (await ask(it.handler, { method: "POST", target: "/tickets", headers: JSON_BODY, body: "{}" })).status,
    501,
    "it is called",
  );
});

t.test("a path that only an old instance hides is no problem", async (t) => {
  const it = await deploy(t.testdir(), { flags: { lease: "60s" } });
  t.teardown(it.close);
  const leave = it.add({ service: "tickets", ...ticketsOf(t, CALL) });
  it.add({ service: "tickets", id: "2", ...ticketsOf(t, CREATE) });
  const endpoints = () => it.catalog.routes.targetsOf("tickets")?.map(({ endpoint }) => endpoint.name);
  await until(() => endpoints()?.length === 2);
  leave();
  await until(() => endpoints()?.length === 1);
  t.same(
    it.logged.filter((line) => line.service === "tickets" && ("problem" in line || "solved" in line)),
    [],
  );
});

const JSON_BODY = ["Content-Type", "application/json"];
