// A gRPC port counts and logs the calls that a limit refuses.
import t from "tap";
import { loadConfig } from "../../src/config/config.js";
import { createLog } from "../../src/log.js";
import { Metrics } from "../../src/metrics.js";
import { openGrpcPort } from "../../src/process/grpc-port.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../src/rpc/http2/server.js";
import { rawService, statusOf } from "../rpc/raw-service.js";
import { ScriptedLimits } from "../rpc/scripted-limits.js";
import { LIMITS } from "../rpc/serve.js";
import { TableGuard } from "../rpc/table-guard.js";

t.test("a call that a limit refuses", async (t) => {
  const logged: Record<string, unknown>[] = [];
  const log = createLog("info", { write: (line) => logged.push(JSON.parse(line)) });
  const limits = new ScriptedLimits();
  limits.reset("refuse");
  const guard = new TableGuard();
  guard.count = limits.count;
  const metrics = new Metrics();
  const port = await openGrpcPort({
    services: [rawService({ one: (request) => request })],
    guard,
    transport: { serve: (dispatcher, address) => serveHttp2(dispatcher, address, LIMITS) },
    config: loadConfig({ grpc: "127.0.0.1:0" }, {}),
    log,
    metrics,
  });
  t.teardown(() => port.close(0));
  const channel = new Http2Channel(port.target);
  t.teardown(() => channel.close());
  await statusOf(channel);
  limits.reset(undefined);
  await statusOf(channel);
  t.match(logged, [
    { endpoint: "raw:Raw.One", code: "RESOURCE_EXHAUSTED", limit: "ci" },
    { endpoint: "raw:Raw.One", code: "OK" },
  ]);
  t.notOk("limit" in (logged[1] ?? {}));
  t.match(await metrics.text(), /^portico_limit_refused_total\{limit="ci"\} 1$/m);
});
