// After SIGTERM, /readyz responds with 503. Calls are accepted as before until the notice is over.
import { once } from "node:events";
import t from "tap";
import { installation } from "../../support/installation.js";
import { administrator, answered, call, start } from "../../support/process.js";
import { MAX_WAIT } from "../../support/until.js";

/** Asks until the response is not 200. Returns that response. */
async function notReady(url: string) {
  for (const late = AbortSignal.timeout(MAX_WAIT); ; ) {
    const response = await call(`${url}/readyz`);
    if (response.status !== 200) return response;
    if (late.aborted) throw new Error(`${url} still answers 200`);
  }
}

t.test("during the notice calls, rules and the catalog work, on new connections too", async (t) => {
  const data = await installation(t.testdir());
  const notice = { PORTICO_DRAIN_NOTICE: "60s", PORTICO_DRAIN: "120s" };
  const server = await start(["server"], { PORTICO_DATA: data, ...notice });
  t.teardown(() => server.stop("SIGKILL"));
  const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: server.address("gRPC") };
  const gateway = await start(["gateway"], joined);
  t.teardown(() => gateway.stop());
  const url = server.address("HTTP");
  const admin = await administrator(url, data);
  server.child.kill("SIGTERM");
  t.match(await notReady(url), { status: 503, body: { Detail: "Not ready: stopping" } });
  t.equal((await call(`${server.address("Metrics").replace("/metrics", "")}/readyz`)).status, 503);
  for (const door of [url, gateway.address("HTTP")]) {
    t.match(await call(`${door}/helloworld/call?name=Ada`), { status: 200, body: { message: "Hello Ada" } });
  }
  t.equal((await call(`${url}/v1/auth/Rules/Delete`, { id: "default" }, admin)).status, 200);
  for (const door of [url, gateway.address("HTTP")]) {
    t.equal((await call(`${door}/helloworld/call?name=Ada`)).status, 401, "a rule that is deleted grants nothing");
  }
  server.child.kill("SIGTERM");
  const [code, signal] = await once(server.child, "exit");
  t.same([code, signal], [null, "SIGTERM"], "who is told twice does not wait");
});

t.test("a process ends by itself after the notice", async (t) => {
  const server = await start(["server"], {
    PORTICO_DATA: await installation(t.testdir()),
    PORTICO_DRAIN_NOTICE: "300ms",
  });
  t.equal(await server.stop(), 0);
});

t.test("workers give notice too", async (t) => {
  const data = await installation(t.testdir());
  const server = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => server.stop());
  const notice = { PORTICO_DRAIN_NOTICE: "60s", PORTICO_DRAIN: "120s" };
  const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: server.address("gRPC"), ...notice };
  const gateway = await start(["gateway", "--workers=2"], joined);
  t.teardown(() => gateway.stop("SIGKILL"));
  const url = gateway.address("HTTP");
  gateway.child.kill("SIGTERM");
  await notReady(url);
  // On a busy machine a worker may have no lease for a moment.
  await answered(() => call(`${url}/helloworld/call?name=Ada`), 200);
  t.equal((await call(`${url}/readyz`)).status, 503, "during the notice");
});
