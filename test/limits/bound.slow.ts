// However guards and their authority are killed, stopped and cut off, the guards together never
// count more than burst + rate × t. Real processes; each guard prints when it counted a call.
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { freePort } from "../support/ports.js";
import { administrator, call, start } from "../support/process.js";
import { excess, GuardProcess } from "./bound.js";

/** The burst is more than what is added while the authority starts, so that it must not be full. */
const RATE = { perSecond: 100, burst: 400 };
/** A call is written down a moment after it was counted. */
const LATE = 3;

t.test("kill, stop and partition of guards, kill and restart of the authority", async (t) => {
  const data = t.testdir();
  const env = { PORTICO_DATA: data, PORTICO_LEASE: "2s", PORTICO_GRPC: `127.0.0.1:${await freePort()}` };
  let server = await start(["server"], env);
  t.teardown(() => server.stop("SIGKILL"));
  const http = server.address("HTTP");
  const admin = await administrator(http, data);
  const created = await call(`${http}/auth/enrolments.create`, { name: "gateway" }, admin);
  const { secret: token } = created.body as { secret: string };
  const limit = { id: "shared", rate: "100/s", burst: "400", per: "EVERYONE" };
  t.equal((await call(`${http}/auth/limits.create`, { limit }, admin)).status, 200);

  const port = Number(env.PORTICO_GRPC.split(":")[1]);
  const proxy = await CuttingProxy.listen(t, port);
  const guardAt = (authority: string) => new GuardProcess(t, { authority: [authority], token, perSecond: 80 });
  const all = [guardAt(env.PORTICO_GRPC), guardAt(env.PORTICO_GRPC), guardAt(`127.0.0.1:${proxy.port}`)];
  const [first, second] = all as [GuardProcess, GuardProcess];
  await Promise.all(all.map((guard) => guard.ready()));
  const began = performance.now();
  await sleep(1_500);

  first.signal("SIGSTOP");
  await sleep(1_500);
  first.signal("SIGCONT");
  proxy.responses = "vanish";
  await sleep(1_500);
  proxy.responses = "pass";
  proxy.cut();
  await second.kill();
  all.push(await guardAt(env.PORTICO_GRPC).ready());
  await server.stop("SIGKILL");
  server = await start(["server"], env);
  await sleep(3_000);
  await server.stop("SIGKILL");
  server = await start(["server"], env);
  await sleep(2_000);

  const moments = all.flatMap((guard) => guard.moments);
  const possible = RATE.burst + (RATE.perSecond * (performance.now() - began)) / 1_000;
  t.comment(`${moments.length} calls were counted, at most ${Math.round(possible)} may be`);
  t.ok(moments.length > possible / 3, "calls were counted");
  t.ok(excess(moments, RATE) <= LATE, `${excess(moments, RATE)} beyond the bound`);
});
