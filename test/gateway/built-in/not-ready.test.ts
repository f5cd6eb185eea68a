// Before the catalog has arrived, the gateway does not know the services, and does not say that
// there are none.
import t from "tap";
import { HealthRoutes } from "../../../gateway/built-in/health.js";
import { Routes } from "../../../gateway/catalog/routes.js";
import { createHandler } from "../../../gateway/handler.js";
import { Hosts } from "../../../gateway/stages/cors.js";
import type { SigningGuard } from "../../../src/access/guard.js";
import { loadConfig } from "../../../src/config/config.js";
import { createLog } from "../../../src/log.js";
import { Metrics } from "../../../src/metrics.js";
import { ask } from "../deployment.js";

const guard = {} as SigningGuard; // No request reaches it.
const health = new HealthRoutes({ guard: () => false, catalog: () => false });
const catalog = { routes: new Routes(), ready: false };
const log = createLog("silent", { write() {} });
const handler = createHandler({
  catalog,
  guard,
  own: [health],
  hosts: await Hosts.of({ host: "127.0.0.1", port: 0 }, "*"),
  config: loadConfig({}, {}),
  log,
  metrics: new Metrics(),
});

const cases: [target: string, status: number, body: string][] = [
  ["/helloworld/call", 503, "The catalog of services has not arrived yet"],
  ["/readyz", 503, "Not ready: no authority is followed, the catalog of services has not arrived yet"],
];

for (const [target, status, detail] of cases) {
  t.test(target, async (t) => {
    const response = await ask(handler, { target });
    t.same(JSON.parse(response.body), { Id: "gateway", Code: status, Detail: detail, Status: "Service Unavailable" });
  });
}

t.test("/livez", async (t) => {
  t.equal((await ask(handler, { target: "/livez" })).status, 200);
});

t.test("/readyz says why only at the operator's port", async (t) => {
  const health = new HealthRoutes({ guard: () => false }, { why: () => "the store does not respond" });
  const detailOf = (reply: ReturnType<HealthRoutes["reply"]>): string => JSON.parse(reply?.body ?? "").Detail;
  t.equal(detailOf(health.replyToOperator("/readyz")), "Not ready: the store does not respond");
  t.equal(detailOf(health.reply("/readyz")), "Not ready: no authority is followed");
});
