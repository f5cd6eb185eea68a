// After a clean stop, no change has to wait for a lease, unless another process has one.

import t from "tap";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";

t.test("after a stop under load and a start, deleting a rule does not wait for a lease", async (t) => {
  // So long that a wait for a lease cannot be confused with a slow machine.
  const settings = { PORTICO_DATA: await installation(t.testdir()), PORTICO_LEASE: "60s", PORTICO_DRAIN_NOTICE: "0s" };
  const before = await start(["server"], settings);
  const http = before.address("HTTP");
  let stopped = false;
  const load = (async () => {
    while (!stopped) await call(`${http}/helloworld/call`, { name: "Ada" }).catch(() => undefined);
  })();
  await call(`${http}/helloworld/call`, { name: "Ada" });
  t.equal(await before.stop(), 0);
  stopped = true;
  await load;
  const after = await start(["server"], settings);
  t.teardown(() => after.stop());
  const admin = await administrator(after.address("HTTP"), settings.PORTICO_DATA);
  const started = performance.now();
  const { status } = await call(`${after.address("HTTP")}/v1/auth/Rules/Delete`, { id: "default" }, admin);
  t.equal(status, 200);
  t.ok(performance.now() - started < 30_000, "a lease would take 60 s");
});
