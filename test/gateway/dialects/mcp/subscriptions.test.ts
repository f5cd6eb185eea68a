// A client that listens is notified only when the list of its tools changes, by a rule or a
// service. The stream ends with the client's token.
import t from "tap";
import { until as holds } from "../../../support/until.js";
import { login, post } from "../../deployment.js";
import { createRule, deleteRule, open, scene, until } from "../json/streams/client.js";

const scenery = await scene(t);
const { handler, admin } = scenery;

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

const listen = (notifications: object, token?: string) =>
  open(scenery, "/mcp", {
    headers: {
      ...{ accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28" },
      "mcp-method": "subscriptions/listen",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: { jsonrpc: "2.0", id: "s", method: "subscriptions/listen", params: { _meta: META, notifications } },
  });

const ACKNOWLEDGED =
  /"notifications\/subscriptions\/acknowledged","params":\{"_meta":\{"io.modelcontextprotocol\/subscriptionId":"s"\},"notifications":\{"toolsListChanged":true\}/;
const CHANGED = /"notifications\/tools\/list_changed"/;
/** The line of the log about a request, when it has been written. */
const lineOf = async (requestId: unknown) => {
  const line = () => scenery.logged.find((one) => one.requestId === requestId);
  await holds(() => line() !== undefined);
  return line();
};
const deny = (id: string, resource: string) => ({ id, scope: "<public>", access: "DENIED", resource, priority: 10 });

t.test("a rule that removes a tool, and one that adds it again", async (t) => {
  const { status, response } = await listen({ toolsListChanged: true });
  t.equal(status, 200);
  await until(response, ACKNOWLEDGED);
  await createRule(scenery, deny("no-feed", "service:feed:*"));
  await until(response, CHANGED);
  await deleteRule(scenery, "no-feed");
  await until(response, CHANGED);
  t.pass("it was told twice");
  response.destroy();
});

t.test("a service that joins, and leaves", async (t) => {
  const { response } = await listen({ toolsListChanged: true });
  await until(response, ACKNOWLEDGED);
  const leave = scenery.add({ service: "late" });
  await until(response, CHANGED);
  leave();
  await until(response, CHANGED);
  t.pass("it was told twice");
  response.destroy();
});

t.test("a client that asks for no notifications gets none, and a rule that changes no list causes none", async (t) => {
  const [silent, other] = await Promise.all([listen({}), listen({ toolsListChanged: true })]);
  await until(other.response, ACKNOWLEDGED);
  await createRule(scenery, deny("nowhere", "service:nowhere:*"));
  await createRule(scenery, deny("no-feed", "service:feed:*"));
  const told = await until(other.response, CHANGED);
  t.equal(told.match(new RegExp(CHANGED, "g"))?.length, 1);
  await deleteRule(scenery, "no-feed");
  await deleteRule(scenery, "nowhere");
  silent.response.destroy();
  other.response.destroy();
});

t.test("a stream has a line in the log when it has ended", async (t) => {
  const { response, headers } = await listen({ toolsListChanged: true });
  await until(response, ACKNOWLEDGED);
  const requestId = headers["x-request-id"];
  t.notOk(scenery.logged.some((line) => line.requestId === requestId));
  response.destroy();
  t.match(await lineOf(requestId), { method: "POST", dialect: "mcp", path: "/mcp", status: 200, endedBy: "client" });
});

t.test("a stream ends with the caller's token", async (t) => {
  const token = await login(handler, "admin");
  const { headers, text, isComplete } = await listen({ toolsListChanged: true }, token);
  const all = text();
  await post(handler, "/v1/auth/Logout", {}, token);
  t.match(await all, ACKNOWLEDGED, "the stream has ended");
  t.match(await all, /data: \{"jsonrpc":"2.0","id":"s","result":\{"resultType":"complete",.*\}\n\n$/, "with a result");
  t.equal(isComplete(), true, "in an orderly way");
  t.match(await lineOf(headers["x-request-id"]), { dialect: "mcp", path: "/mcp", status: 401 });
  t.ok(admin);
});
