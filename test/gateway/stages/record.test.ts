// The record of each request: one line in the log and a count in the metrics, under canonical
// names, without a token or a query.
import t from "tap";
import { createAdminHandler } from "../../../gateway/built-in/admin.js";
import { Hosts } from "../../../gateway/stages/cors.js";
import { Code } from "../../../src/errors.js";
import { createLog } from "../../../src/log.js";
import { ADMIN_PASSWORD, ask, deploy, login } from "../deployment.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const { handler, logged, metrics, health } = deployment;
const token = await login(handler, "admin");

t.test("the access log has one line for each request", async (t) => {
  logged.length = 0;
  const headers = ["Authorization", `Bearer ${token}`, "X-Request-Id", "mine"];
  await ask(handler, { target: "/HELLOWORLD/call?name=s3cret", headers });
  t.match(logged, [
    {
      level: "info",
      requestId: "mine",
      method: "GET",
      endpoint: "helloworld:Helloworld.Call",
      status: 200,
      account: "admin",
      namespace: "default",
      bytes: 47,
    },
  ]);
  t.type(logged[0]?.ms, "number");
});

t.test("a request to no endpoint is logged with its path, without the query", async (t) => {
  logged.length = 0;
  await ask(handler, { target: `/nowhere?token=${token}` });
  t.match(logged, [{ path: "/nowhere", status: 404 }]);
});

t.test("the log has more detail about a failed call than the response", async (t) => {
  logged.length = 0;
  const fail = { code: Code.UNKNOWN, message: "no table users" };
  const headers = ["Content-Type", "application/json"];
  const { body } = await ask(handler, { method: "POST", target: "/probe/fail", headers, body: JSON.stringify(fail) });
  t.notMatch(body, /users/);
  t.match(logged, [{ endpoint: "probe:Probe.Fail", status: 500, failure: "no table users" }]);
});

t.test("neither tokens nor queries are in the log", async (t) => {
  logged.length = 0;
  const secret = ["Authorization", `Bearer ${token}`, "Cookie", `a=${token}`];
  await ask(handler, { target: `/helloworld?name=${token}`, headers: secret });
  await ask(handler, { target: `/probe/break?x=${token}`, headers: secret });
  await ask(handler, { method: "POST", target: `/v1/helloworld/call?access_token=${token}`, headers: secret });
  for (const path of [
    `/${token}`,
    `/helloworld/call/${token}`,
    `/v1/${encodeURIComponent(token).replace("_", "%5F")}/x`,
  ]) {
    await ask(handler, { target: path, headers: [...secret, "X-Request-Id", token] });
  }
  await login(handler, "admin").then((other) => ask(handler, { target: `/nowhere?${other}`, headers: secret }));
  const text = JSON.stringify(logged);
  t.ok(logged.length >= 4);
  t.notMatch(text, /pt[aekr]_/);
  t.notOk(text.includes(token.slice(4, 20)), "nor a part of it");
  t.notOk(text.includes(ADMIN_PASSWORD));
});

t.test("a secret that is logged by mistake is masked", async (t) => {
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => lines.push(line) });
  log.info({
    token,
    authorization: `Bearer ${token}`,
    password: "p4ss",
    secret: token,
    enrolment: token,
    cookie: token,
    account: "ada",
  });
  t.match(JSON.parse(lines[0] as string), { token: "[secret]", account: "ada" });
  t.notMatch(lines[0], /pt[aekr]_|p4ss/);
});

t.test("metrics count each request", async (t) => {
  await ask(handler, { target: "/Helloworld/CALL" });
  await ask(handler, { target: "/helloworld/callx" });
  await ask(handler, { target: "/made-up-1" });
  await ask(handler, { target: "/made-up-2" });
  const text = await metrics.text();
  t.match(
    text,
    /^portico_requests_total\{service="helloworld",endpoint="helloworld:Helloworld\.Call",code="200"\} \d+$/m,
  );
  t.match(text, /^portico_requests_total\{service="gateway",endpoint="gateway",code="404"\} \d+$/m);
  t.notMatch(text, /made-up|callx/, "what callers make up is no label");
  t.match(
    text,
    /^portico_request_duration_seconds_bucket\{service="helloworld",endpoint="helloworld:Helloworld\.Call",le="\+Inf"\} (\d+)$/m,
  );
  t.match(text, /^process_resident_memory_bytes \d+/m);
});

t.test("the operator's port serves metrics and health", async (t) => {
  const hosts = await Hosts.of({ host: "127.0.0.1", port: 0 }, ["portico.test"]);
  const admin = createAdminHandler({ metrics, health, hosts });
  const cases: [method: string, target: string, status: number, body: RegExp][] = [
    ["GET", "/metrics", 200, /^# HELP portico_requests_total/],
    ["GET", "/livez", 200, /alive/],
    ["GET", "/readyz", 200, /ready/],
    ["POST", "/metrics", 405, /"Code":405/],
    ["GET", "/helloworld", 404, /"Code":404/],
  ];
  for (const [method, target, status, body] of cases) {
    const response = await ask(admin, { method, target });
    t.equal(response.status, status, `${method} ${target}`);
    t.match(response.body, body, `${method} ${target}`);
  }
  t.match((await ask(admin, { target: "/metrics" })).headers["content-type"], /^text\/plain; version=0\.0\.4/);
});

t.test("/readyz fails when the process is about to stop, /livez does not", async (t) => {
  t.equal((await ask(handler, { target: "/readyz" })).status, 200);
  health.leave();
  t.equal((await ask(handler, { target: "/readyz" })).status, 503);
  t.equal((await ask(handler, { target: "/livez" })).status, 200);
});
