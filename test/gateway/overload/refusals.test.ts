// Requests that wait at the HTTP port: how they are served, and how they are refused. The test runs
// the turns of the event loop.
import t, { type Test } from "tap";
import { MAX_WAIT_MS } from "../../../src/overload/call-queue.js";
import { HTTP_VERSIONS, httpClient, type Received, type Sent } from "../../support/http-client.js";
import { inTime, until } from "../../support/until.js";
import { startBusy } from "./busy.js";

const JSON_TYPE = { "content-type": "application/json" };
const CALL: Sent = { method: "POST", path: "/helloworld/call", headers: JSON_TYPE, body: '{"name":"Ada"}' };
const DETAIL = "The gateway has more requests than it can process in time; try again later";
const RPC = "/helloworld.Helloworld/Call";
const EMPTY_ENVELOPE = "\0\0\0\0\0";

const DIALECTS: readonly { dialect: string; sent: Sent; check(t: Test, response: Received): void }[] = [
  {
    dialect: "JSON",
    sent: CALL,
    check(t, { status, headers, body }) {
      t.equal(status, 503);
      t.equal(headers["retry-after"], "1");
      t.ok(headers["x-request-id"]);
      const error = { Id: "gateway", Code: 503, Detail: DETAIL, Status: "Service Unavailable" };
      t.same(JSON.parse(body), error);
    },
  },
  {
    dialect: "MCP",
    sent: { ...CALL, path: "/mcp", body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' },
    check(t, { status, headers, body }) {
      t.equal(status, 503);
      t.equal(headers["retry-after"], "1");
      t.match(JSON.parse(body), { jsonrpc: "2.0", error: { code: 503, message: DETAIL } });
    },
  },
  {
    dialect: "Connect",
    sent: { method: "POST", path: RPC, headers: { "content-type": "application/proto" }, body: "" },
    check(t, { status, body }) {
      t.equal(status, 503);
      t.match(JSON.parse(body), { code: "unavailable", message: DETAIL });
    },
  },
  {
    dialect: "Connect's streams",
    sent: {
      method: "POST",
      path: RPC,
      headers: { "content-type": "application/connect+json" },
      body: EMPTY_ENVELOPE,
    },
    check(t, { status, body }) {
      t.equal(status, 200);
      t.match(JSON.parse(body.slice(5)), { error: { code: "unavailable", message: DETAIL } });
    },
  },
  {
    dialect: "gRPC",
    sent: { method: "POST", path: RPC, headers: { "content-type": "application/grpc" }, body: EMPTY_ENVELOPE },
    check(t, { status, headers }) {
      t.equal(status, 200);
      t.equal(headers["grpc-status"], "14");
      t.equal(headers["grpc-message"], DETAIL);
    },
  },
  {
    dialect: "gRPC-Web",
    sent: {
      method: "POST",
      path: RPC,
      headers: { "content-type": "application/grpc-web+proto" },
      body: EMPTY_ENVELOPE,
    },
    check(t, { status, body }) {
      t.equal(status, 200);
      t.match(body, /grpc-status: ?14/);
    },
  },
];

for (const version of HTTP_VERSIONS) {
  for (const { dialect, sent, check } of DIALECTS) {
    t.test(
      `${dialect} over ${version}: a request that has waited too long is refused as the dialect writes errors`,
      async (t) => {
        const it = await startBusy(t, { maxThrottleMs: 1 });
        const response = httpClient(t, version, it.gateway.address).send(sent);
        await it.waiting();
        it.loop.turn();
        it.loop.milliseconds += MAX_WAIT_MS + 1;
        it.turn();
        check(t, await inTime(response, "the refusal"));
        t.same(it.dispatched, [], "the service was not called");
        t.match(await it.metrics.text(), /^portico_overload_refused_total 1$/m);
        t.same(it.logged, [], "a flood of refusals writes no log lines");
      },
    );
  }

  t.test(`${version}: a waiting request is served when its turn has come`, async (t) => {
    const it = await startBusy(t);
    const response = httpClient(t, version, it.gateway.address).send(CALL);
    await it.waiting();
    it.turn();
    t.match(await inTime(response, "the answer"), { status: 200, body: /Ada/ });
    t.match(await it.metrics.text(), /^portico_overload_refused_total 0$/m);
  });

  t.test(`${version}: a request whose client goes away while it waits does not reach the service`, async (t) => {
    const it = await startBusy(t);
    const client = httpClient(t, version, it.gateway.address);
    const gone = client.open({ path: "/helloworld/call?name=Gone" });
    gone.head.catch(() => {});
    await it.waiting();
    gone.leave();
    await until(() => it.callQueue.cancelled === 1);
    it.turn();
    t.same(it.dispatched, []);
  });
}

t.test("a request whose client goes away after its wait is counted once", async (t) => {
  const it = await startBusy(t);
  const gone = httpClient(t, "HTTP/1.1", it.gateway.address).open(CALL);
  gone.head.catch(() => {});
  await it.waiting();
  it.turn();
  gone.leave();
  await until(() => it.logged.length > 0);
  t.match(it.logged, [{ status: 499 }]);
  const counts = (await it.metrics.text()).match(/^portico_requests_total.*code="499".*$/gm);
  t.match(counts, [/service="helloworld".* 1$/]);
  t.equal(counts?.length, 1);
});

t.test("while calls to one service wait, a call to another and /readyz are served at once", async (t) => {
  const it = await startBusy(t);
  const client = httpClient(t, "HTTP/1.1", it.gateway.address);
  const send = (path: string) => inTime(client.send({ path }), path);
  const flood = ["1", "2", "3"].map((name) => send(`/helloworld/call?name=${name}`));
  await it.waiting(3);
  it.loop.turn();
  t.equal((await send("/readyz")).status, 200);
  t.equal((await send("/probe/tell")).status, 200);
  t.same(it.dispatched, ["service:probe:Probe.Tell"]);
  it.turn();
  for (const { status } of await Promise.all(flood)) t.equal(status, 200);
});

const GROUPS: readonly (readonly [title: string, group: string, paths: readonly string[]])[] = [
  [
    "all paths of a service",
    "helloworld",
    [CALL.path as string, "/v1/helloworld/call", "/HelloWorld/Call", RPC, `/bound${RPC}`],
  ],
  ["each first segment of Portico's own paths", "/openapi", ["/openapi", "/openapi/helloworld.json"]],
  ["all paths without a route", "/", ["/nothing/here", "/nothing/there", "/else?a=b"]],
];
for (const [title, group, paths] of GROUPS) {
  t.test(`${title} take turns as one group`, async (t) => {
    const it = await startBusy(t, { bound: true });
    const client = httpClient(t, "HTTP/1.1", it.gateway.address);
    const responses = paths.map((path) => client.send({ ...CALL, path }));
    await it.waiting(paths.length);
    t.same(
      it.callQueue.groups,
      paths.map(() => group),
    );
    it.turn();
    await inTime(Promise.all(responses), "all answers");
  });
}

t.test("a waiting request gets a response when the server stops", async (t) => {
  const it = await startBusy(t);
  const response = httpClient(t, "HTTP/1.1", it.gateway.address).send(CALL);
  await it.waiting();
  await inTime(it.gateway.close(0), "the stop");
  t.match(await inTime(response, "the refusal"), { status: 503, body: /Portico is stopping/ });
});
