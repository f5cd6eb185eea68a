// The spans of a request: which there are, their parents, their attributes, and what services are
// told about the trace.
import { once } from "node:events";
import { connect } from "node:http2";
import t from "tap";
import { Code } from "../../../src/errors.js";
import { part, type Service } from "../../../src/rpc/service.js";
import { BYTES } from "../../rpc/raw-service.js";
import { buildAnnotated } from "../../support/descriptors.js";
import { ask, login, post } from "../deployment.js";
import { createRule, deleteRule, dial, open } from "../dialects/json/streams/client.js";
import { send } from "../dialects/mcp/client.js";
import { PARENT_ID, SAMPLED, TRACE_ID, tracedScene, UNSAMPLED } from "./spans.js";

const descriptors = buildAnnotated("test/gateway/stages", "vault.proto");
const method = (name: string) => ({
  ...({ path: `/vault.Vault/${name}`, requestStream: false, responseStream: false } as const),
  ...BYTES,
});
const empty = () => Buffer.alloc(0);
const vault: Service = {
  name: "vault",
  descriptors,
  parts: [part({ name: method("Name"), open: method("Open") }, { name: empty, open: empty })],
};

const SAMPLED_LIST = ["Traceparent", SAMPLED.traceparent, "Tracestate", SAMPLED.tracestate];

t.test("a call has a server span, a decision, and a call with one attempt", async (t) => {
  const it = await tracedScene(t, 0);
  const { status } = await open(it, "/HELLOWORLD/call?name=s3cret", { headers: SAMPLED });
  t.equal(status, 200);
  const { root, decisions, calls, attempts, served } = await it.trace();
  t.match(root, {
    name: "GET /helloworld/Call",
    kind: 2,
    traceId: TRACE_ID,
    parentId: PARENT_ID,
    isParentRemote: true,
    state: "a=1",
    error: undefined,
  });
  t.match(root.attributes, {
    "http.request.method": "GET",
    "url.path": "/HELLOWORLD/call",
    "url.scheme": "http",
    "http.route": "/helloworld/Call",
    "http.response.status_code": 200,
    "client.address": "127.0.0.1",
    "server.address": "127.0.0.1",
    "server.port": it.port,
    "network.protocol.version": "1.1",
    "portico.endpoint": "helloworld:Helloworld.Call",
    "portico.dialect": "json",
    "portico.namespace": "default",
    "portico.request_id": /^[\w-]+$/,
  });
  t.match(decisions, [{ kind: 1, parentId: root.spanId, error: undefined }]);
  t.match(decisions[0]?.attributes, { "portico.endpoint": "helloworld:Helloworld.Call" });
  const rpc = { "rpc.system": "grpc", "rpc.service": "helloworld.Helloworld", "rpc.method": "Call" };
  t.match(calls, [{ kind: 1, parentId: root.spanId, attributes: { ...rpc, "portico.attempts": 1 } }]);
  const attempt = { kind: 3, name: "helloworld.Helloworld/Call", parentId: calls[0]?.spanId, error: undefined };
  t.match(attempts, [{ ...attempt, attributes: { ...rpc, "rpc.grpc.status_code": 0 } }]);
  const server = { kind: 2, name: "helloworld.Helloworld/Call", parentId: attempts[0]?.spanId, isParentRemote: false };
  t.match(served, [{ ...server, traceId: TRACE_ID, attributes: { ...rpc, "rpc.grpc.status_code": 0 } }]);
  for (const span of [...decisions, ...calls, ...attempts, ...served]) t.equal(span.traceId, TRACE_ID);
  t.equal(decisions.length + calls.length + attempts.length + served.length, 4, "there are no others");
});

t.test("the service is told its span, and the log has the IDs", async (t) => {
  const it = await tracedScene(t, 0);
  const { body } = await ask(it.handler, { target: "/probe/tell", headers: SAMPLED_LIST });
  const { metadata } = JSON.parse(body) as { metadata: Record<string, string> };
  const { root, served } = await it.trace();
  t.equal(metadata.traceparent, `00-${TRACE_ID}-${served[0]?.spanId}-01`);
  t.equal(metadata.tracestate, "a=1");
  t.match(it.logged.at(-1), { trace_id: TRACE_ID, span_id: root.spanId });
});

t.test("a client's decision not to sample holds, and its trace is passed on and logged", async (t) => {
  const it = await tracedScene(t, 1);
  const headers = ["Traceparent", UNSAMPLED.traceparent, "Tracestate", UNSAMPLED.tracestate];
  const { body } = await ask(it.handler, { target: "/probe/tell", headers });
  t.match(JSON.parse(body).metadata, { traceparent: UNSAMPLED.traceparent, tracestate: "a=1" });
  t.match(it.logged.at(-1), { trace_id: TRACE_ID, span_id: undefined });
  t.same(it.spans, []);
});

t.test("a request that the sample misses has no span, and its service is told no trace", async (t) => {
  const it = await tracedScene(t, 0);
  const { body } = await ask(it.handler, { target: "/probe/tell" });
  t.notHas(JSON.parse(body).metadata, { traceparent: /./ });
  t.notHas(it.logged.at(-1), { trace_id: /./ });
  t.same(it.spans, []);
});

t.test("a request that the sample hits begins a trace", async (t) => {
  const it = await tracedScene(t, 1);
  const { body } = await ask(it.handler, { target: "/probe/tell", headers: ["Tracestate", "a=1"] });
  const { root, served } = await it.trace();
  t.match(root, { parentId: undefined, state: undefined });
  t.equal(JSON.parse(body).metadata.traceparent, `00-${root.traceId}-${served[0]?.spanId}-01`);
  t.notHas(JSON.parse(body).metadata, { tracestate: /./ }, "a state without a parent does not count");
});

t.test("without a tracer the trace of a client is passed on, and logged", async (t) => {
  const it = await tracedScene(t, 1, { tracer: undefined as never });
  const { body } = await ask(it.handler, { target: "/probe/tell", headers: SAMPLED_LIST });
  t.match(JSON.parse(body).metadata, SAMPLED);
  t.match(it.logged.at(-1), { trace_id: TRACE_ID });
  t.same(it.spans, []);
});

t.test("over HTTP/2, the span names the version", async (t) => {
  const it = await tracedScene(t, 1);
  const session = connect(`http://127.0.0.1:${it.port}`);
  t.teardown(() => session.destroy());
  const stream = session.request({ ":path": "/helloworld/call?name=Ada" });
  await once(stream.resume(), "end");
  const { root } = await it.trace();
  t.match(root.attributes, { "network.protocol.version": "2", "server.port": it.port });
});

t.test("at a path of an annotation, the template is the route, and stands for a path with a secret", async (t) => {
  const it = await tracedScene(t, 1, { services: [vault] });
  await ask(it.handler, { target: "/boxes/7/name" });
  const { root } = await it.trace();
  t.equal(root.name, "GET /boxes/{id}/name");
  t.match(root.attributes, { "http.route": "/boxes/{id}/name", "url.path": "/boxes/7/name" });
  await ask(it.handler, { target: "/boxes/by-pin/s3cret" });
  const secret = (await it.trace()).root.attributes;
  t.match(secret, { "http.route": "/boxes/by-pin/{pin}", "url.path": "/boxes/by-pin/{pin}" });
});

t.test("refused calls have a decision that says why", async (t) => {
  const it = await tracedScene(t, 1);
  const { handler, admin } = it;
  await createRule(it, { id: "closed", scope: "staff", access: "DENIED", resource: "service:probe:*", priority: 5 });
  const account = { name: "bob", password: "correct horse battery", scopes: ["staff"] };
  await post(handler, "/v1/auth/Accounts/Create", account, admin);
  const bob = await login(handler, "bob");
  await deleteRule(it, "default");
  it.spans.length = 0;
  const cases = [
    [[], 401, "UNAUTHENTICATED", "NO_RULE"],
    [["Authorization", "Bearer nonsense"], 401, "UNAUTHENTICATED", "UNKNOWN_TOKEN"],
    [["Authorization", `Bearer ${bob}`], 401, "UNAUTHENTICATED", "RULE"],
  ] as const;
  for (const [headers, status, type, reason] of cases) {
    t.equal((await ask(handler, { target: "/probe/tell", headers })).status, status);
    const { root, decisions, calls } = await it.trace();
    t.match(root.attributes, { "http.response.status_code": status, "error.type": undefined });
    t.equal(root.error, undefined, "a client's error is none of the server");
    t.match(decisions, [{ error: type, attributes: { "error.type": type, "portico.refusal": reason } }]);
    t.same(calls, []);
  }
  await createRule(it, { id: "open", scope: "*", access: "GRANTED", resource: "service:probe:*", priority: 0 });
  it.spans.length = 0;
  const headers = ["Authorization", `Bearer ${bob}`];
  t.equal((await ask(handler, { target: "/probe/tell", headers })).status, 403);
  t.match((await it.trace()).decisions, [
    { error: "PERMISSION_DENIED", attributes: { "portico.account": "bob", "portico.refusal": "RULE" } },
  ]);
});

t.test("an error of the service is in the spans of its call, but not its message", async (t) => {
  const it = await tracedScene(t, 1);
  const fail = (code: Code) =>
    ask(it.handler, {
      method: "POST",
      target: "/probe/fail",
      headers: ["Content-Type", "application/json"],
      body: JSON.stringify({ code, message: "no table users" }),
    });
  await fail(Code.NOT_FOUND);
  const client = await it.trace();
  t.equal(client.root.error, undefined);
  const notFound = { "rpc.grpc.status_code": 5, "error.type": "NOT_FOUND" };
  t.match(client.attempts, [{ error: "NOT_FOUND", attributes: notFound }]);
  t.match(client.served, [{ error: undefined, attributes: notFound }], "no error of the server");
  await fail(Code.UNAVAILABLE);
  const server = await it.trace();
  t.match(server.root, { error: "", attributes: { "http.response.status_code": 503, "error.type": "503" } });
  t.match(server.calls, [{ error: "UNAVAILABLE" }]);
  t.match(server.served, [{ error: "UNAVAILABLE" }]);
  t.notMatch(JSON.stringify([client, server]), /no table/);
});

t.test("a service that cannot be reached: the call failed, and its attempt", async (t) => {
  const it = await tracedScene(t, 1);
  t.equal((await ask(it.handler, { target: "/gone/call" })).status, 503);
  const { root, attempts } = await it.trace();
  t.match(root.attributes, { "error.type": "503", "portico.endpoint": "gone:Helloworld.Call" });
  t.match(attempts, [{ error: "UNAVAILABLE", attributes: { "server.address": "127.0.0.1", "server.port": 1 } }]);
});

t.test("a path without an endpoint has no route, and neither query nor token", async (t) => {
  const it = await tracedScene(t, 1);
  await ask(it.handler, { target: `/nowhere/${it.admin}?a=s3cret` });
  const { root, decisions } = await it.trace();
  t.match(root, { name: "GET", attributes: { "url.path": "/nowhere/[secret]", "http.route": undefined } });
  t.same(decisions, []);
  await ask(it.handler, { method: "BREW", target: "/helloworld" });
  t.match((await it.trace()).root.attributes, { "http.request.method": "_OTHER" });
});

t.test("probes have no span", async (t) => {
  const it = await tracedScene(t, 1);
  await ask(it.handler, { target: "/livez", headers: SAMPLED_LIST });
  await ask(it.handler, { target: "/nowhere" });
  t.match((await it.trace()).root.attributes, { "url.path": "/nowhere" });
  t.same(it.spans, []);
});

t.test("a stream has spans until its end", async (t) => {
  const it = await tracedScene(t, 1);
  const stream = await open(it, "/feed/count?messages=3&hang=true");
  t.notOk(
    it.spans.some(({ name }) => name !== "decide"),
    "while it is open, only the decision has ended",
  );
  stream.response.destroy();
  const { root, attempts, served } = await it.trace();
  t.match(root, { name: "GET /feed/Count", attributes: { "http.response.status_code": 200 } });
  t.match(attempts, [{ name: "feed.Feed/Count", attributes: { "rpc.grpc.status_code": Code.CANCELLED } }]);
  t.match(served, [{ parentId: attempts[0]?.spanId }]);
  const finished = await open(it, "/feed/count?messages=3");
  await finished.text();
  t.match((await it.trace()).attempts, [{ attributes: { "rpc.grpc.status_code": 0 }, error: undefined }]);
});

t.test("a WebSocket has spans until it is closed", async (t) => {
  const it = await tracedScene(t, 0);
  const { socket, count, closed } = await dial(it, "/feed/chat", [], SAMPLED);
  socket.send('{"number":"1"}');
  await count(1);
  t.notOk(it.spans.some(({ name }) => name !== "decide"));
  socket.close();
  await closed;
  const { root, decisions, attempts } = await it.trace();
  t.match(root, { name: "GET /feed/Chat", traceId: TRACE_ID, parentId: PARENT_ID });
  t.equal(decisions.length, 1);
  t.match(attempts, [{ name: "feed.Feed/Chat", traceId: TRACE_ID }]);
});

t.test("a tool call over MCP has the decision about its sender, and the decision about the tool", async (t) => {
  const it = await tracedScene(t, 1);
  await send(it.handler, "tools/call", { name: "helloworld.Call", arguments: { name: "s3cret" } });
  const { root, decisions, attempts } = await it.trace();
  t.match(root, { name: "POST /mcp", attributes: { "portico.dialect": "mcp", "http.route": "/mcp" } });
  t.match(
    decisions.map(({ attributes }) => attributes["portico.endpoint"]),
    [/mcp/i, "helloworld:Helloworld.Call"],
  );
  t.match(attempts, [{ name: "helloworld.Helloworld/Call" }]);
  t.notMatch(JSON.stringify([root, decisions, attempts]), /s3cret/);
  t.equal((await send(it.handler, "tools/list", {}, { token: "nonsense" })).status, 401);
  t.match((await it.trace()).decisions, [{ error: "UNAUTHENTICATED" }]);
});

t.test("no secret of a request is in its spans", async (t) => {
  const it = await tracedScene(t, 1);
  const headers = [
    ...["Authorization", `Bearer ${it.admin}`, "Cookie", "a=s3cret", "X-Api-Key", "s3cret", "User-Agent", "s3cret"],
    ...["Referer", "https://s3cret.test/", "Baggage", "a=s3cret", "Content-Type", "application/json"],
  ];
  await ask(it.handler, { method: "POST", target: "/helloworld/call", headers, body: '{"name":"s3cret"}' });
  const { root } = await it.trace();
  t.match(root.attributes, { "portico.account": "admin" });
  await ask(it.handler, { target: "/helloworld/call?name=s3cret", headers });
  await ask(it.handler, { target: "/probe/break?x=s3cret", headers });
  await it.trace();
  const text = JSON.stringify([root, it.spans]);
  t.notMatch(text, /s3cret|pt[aekr]_/);
});
