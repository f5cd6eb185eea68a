// Who may list and call tools. The rules decide, as for every other call. An invalid token is
// always refused.
import t from "tap";
import { createToken } from "../../../../src/call/token.js";
import { ask, post as call, deploy, login } from "../../deployment.js";
import { post, send } from "./client.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const { handler } = deployment;
const admin = await login(handler, "admin");
const names = async (token?: string): Promise<string[]> => {
  const { body } = await send(handler, "tools/list", {}, token === undefined ? {} : { token });
  return body.result.tools.map(({ name }: { name: string }) => name);
};
const rule = (id: string, scope: string, access: string, resource: string, priority: number) =>
  call(handler, "/v1/auth/Rules/Create", { rule: { id, scope, access, resource, priority } }, admin);
const greet = { name: "helloworld.Call", arguments: { name: "Ada" } };
const METADATA = 'resource_metadata="http://portico.test/.well-known/oauth-protected-resource/mcp"';

t.test("a caller gets a list of the endpoints that it may call, without the authority and the registry", async (t) => {
  t.strictSame(await names(), [
    ...["gone.Call", "gone.Stream", "helloworld.Call", "helloworld.Stream"],
    ...["probe.Call", "probe.Tell", "probe.Fail", "probe.Break", "probe.Hang", "probe.Count"],
    ...["probe.Closed.Call", "probe.Members.Call"],
  ]);
  t.match((await send(handler, "tools/call", { name: "auth.Login" })).body.error, { code: -32602 });
});

t.test("an unknown token is refused, although everyone may call", async (t) => {
  const { status, headers, body } = await send(handler, "tools/call", greet, { token: createToken("access") });
  t.equal(status, 401);
  t.equal(
    headers["www-authenticate"],
    `Bearer error="invalid_token", error_description="The token is not valid, or not in this namespace", ${METADATA}`,
  );
  t.match(body.error, { code: 401 });
});

t.test("a rule refuses a call without a token with 401, and with a token with 403", async (t) => {
  await rule("no-greeting", "*", "DENIED", "service:helloworld:*", 10);
  await rule("no-greeting-public", "<public>", "DENIED", "service:helloworld:*", 10);
  const anonymous = await send(handler, "tools/call", greet);
  t.equal(anonymous.status, 401);
  t.equal(anonymous.headers["www-authenticate"], `Bearer ${METADATA}`);
  t.match(anonymous.body, {
    id: 1,
    error: { code: 401, message: "Unauthorized call made to helloworld:Helloworld.Call" },
  });
  const forbidden = await send(handler, "tools/call", greet, { token: admin });
  t.equal(forbidden.status, 403);
  t.equal(
    forbidden.headers["www-authenticate"],
    `Bearer error="insufficient_scope", error_description="Forbidden call made to helloworld:Helloworld.Call by admin", ${METADATA}`,
  );
  t.notOk((await names(admin)).includes("helloworld.Call"), "and it is not listed");
  const described = await send(handler, "tools/call", {
    name: "describe_endpoint",
    arguments: { name: "helloworld.Call" },
  });
  t.match(described.body.error, { code: -32602 }, "nor described");
});

t.test("a rule that grants only to others refuses a valid token with 403, an invalid one with 401", async (t) => {
  await call(handler, "/v1/auth/Rules/Delete", { id: "default" }, admin);
  await rule("staff-only", "staff", "GRANTED", "service:probe:*", 0);
  const token = await login(handler, "admin");
  const tell = { name: "probe.Tell", arguments: {} };
  const forbidden = await send(handler, "tools/call", tell, { token });
  t.equal(forbidden.status, 403);
  t.equal(
    forbidden.headers["www-authenticate"],
    `Bearer error="insufficient_scope", error_description="Forbidden call made to probe:Probe.Tell by admin", ${METADATA}`,
  );
  t.match(forbidden.body, { id: 1, error: { code: 403, message: "Forbidden call made to probe:Probe.Tell by admin" } });
  const anonymous = await send(handler, "tools/call", tell);
  t.equal(anonymous.status, 401);
  t.equal(anonymous.headers["www-authenticate"], `Bearer ${METADATA}`);
  await t.rejects(call(handler, "/v1/probe/tell", {}, token), /"Code":401/, "JSON answers as the rules say");
  await call(handler, "/v1/auth/logout", {}, token);
  const ended = await send(handler, "tools/call", tell, { token });
  t.equal(ended.status, 401);
  t.match(ended.headers["www-authenticate"], /^Bearer error="invalid_token"/);
});

t.test("if nothing may be called without a token, the response to a list request asks for one", async (t) => {
  const { status, headers } = await send(handler, "tools/list");
  t.equal(status, 401);
  t.equal(headers["www-authenticate"], `Bearer ${METADATA}`);
});

t.test("the metadata of the protected resource", async (t) => {
  for (const path of ["", "/mcp"]) {
    const { status, body } = await ask(handler, { target: `/.well-known/oauth-protected-resource${path}` });
    t.equal(status, 200);
    t.match(JSON.parse(body), { resource: `http://portico.test${path}`, bearer_methods_supported: ["header"] });
  }
});

const REFUSED: [title: string, request: Parameters<typeof ask>[1], status: number][] = [
  ["GET", { target: "/mcp" }, 405],
  ["DELETE", { method: "DELETE", target: "/mcp" }, 405],
  ["a token in the query", { method: "POST", target: "/mcp?access_token=x", body: "{}" }, 400],
  [
    "another content type",
    { method: "POST", target: "/mcp", headers: ["Content-Type", "text/plain"], body: "{}" },
    415,
  ],
];
for (const [title, request, status] of REFUSED) {
  t.test(`${title}: ${status}`, async (t) => t.equal((await ask(handler, request)).status, status));
}

t.test("a cross-origin page is refused, although PORTICO_CORS lets it call services", async (t) => {
  const open = await deploy(t.testdir({ other: {} }), { flags: { cors: "*" } });
  t.teardown(() => open.close());
  const headers = ["Origin", "https://page.test"];
  t.equal((await ask(open.handler, { target: "/helloworld/call?name=Ada", headers })).status, 200);
  t.equal((await post(open.handler, { jsonrpc: "2.0", id: 1, method: "ping" }, { headers })).status, 403);
});
