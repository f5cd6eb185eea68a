// A role continues if its log or its banner cannot be written any more.
import { once } from "node:events";
import { existsSync } from "node:fs";
import t from "tap";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

/** Every write to this file fails with ENOSPC. */
const FULL_DISK = "/dev/full";
const skip = !existsSync(FULL_DISK) && `there is no ${FULL_DISK} here`;

t.test("a full disk for the log stops neither calls nor the process's orderly stop", { skip }, async (t) => {
  const before = ["sh", "-c", `exec "$0" "$@" 2>${FULL_DISK}`];
  const env = { PORTICO_DATA: await installation(t.testdir()), PORTICO_LOG_LEVEL: "info" };
  const portico = await start(["server"], env, ".", [], { before });
  t.teardown(() => portico.stop("SIGKILL"));
  // Enough lines for more than one write of the log.
  for (let number = 0; number < 50; number++) {
    t.match(await call(`${portico.address("HTTP")}/helloworld/call?name=Ada`), { status: 200 });
  }
  t.equal(await portico.stop(), 0);
});

t.test("a gateway whose banner has no reader any more continues without its authority", async (t) => {
  const data = await installation(t.testdir());
  const address = `127.0.0.1:${await freePort()}`;
  const authority = await start(["authority"], { PORTICO_DATA: data, PORTICO_GRPC: address, PORTICO_LEASE: "1s" });
  t.teardown(() => authority.stop("SIGKILL"));
  const gateway = await start(["gateway"], { PORTICO_DATA: data, PORTICO_AUTHORITY: address });
  t.teardown(() => gateway.stop("SIGKILL"));
  const http = gateway.address("HTTP");
  gateway.child.stdout?.destroy();
  await authority.stop("SIGKILL");
  const isNotReady = async () => (await call(`${http}/readyz`)).status === 503;
  await until(isNotReady, { what: () => "the gateway says that it is not ready" });
  const again = await start(["authority"], { PORTICO_DATA: data, PORTICO_GRPC: address });
  t.teardown(() => again.stop("SIGKILL"));
  await until(async () => !(await isNotReady()), { what: () => "the gateway is ready again" });
  const exit = once(gateway.child, "exit");
  await gateway.stop();
  t.strictSame(await exit, [0, null]);
});
