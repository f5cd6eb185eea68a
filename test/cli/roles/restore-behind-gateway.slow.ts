/**
 * A gateway that has applied changes which a restore undoes grants nothing by them once
 * `portico restore` has returned, and then follows the restored state by itself.
 */
import { join } from "node:path";
import t from "tap";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { administrator, call, start } from "../../support/process.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";
import { portico } from "../command-line.js";

/** Long enough that a gateway which still decides is seen. */
const LEASE = "2s";

t.test("a restore while a gateway runs that was ahead", async (t) => {
  const folder = temporaryFolder(t);
  const data = await installation(join(folder, "data"));
  const file = join(folder, "portico.backup");
  const grpc = `127.0.0.1:${await freePort()}`;
  const env = { PORTICO_DATA: data, PORTICO_LEASE: LEASE, PORTICO_AUTHORITY: grpc };
  const authorityStarts = () => start(["authority"], { ...env, PORTICO_GRPC: grpc });
  const authority = await authorityStarts();
  t.teardown(() => authority.stop("SIGKILL"));
  const service = await start(["service", "helloworld"], env);
  t.teardown(() => service.stop());
  const gateway = await start(["gateway"], env);
  t.teardown(() => gateway.stop());
  const url = gateway.address("HTTP");
  const greet = async () => (await call(`${url}/helloworld/call?name=Ada`)).status;
  const admin = await administrator(url, data);
  const change = async (endpoint: string, message: object) =>
    t.equal((await call(`${url}/v1/auth/${endpoint}`, message, admin)).status, 200, endpoint);

  await change("Rules/Delete", { id: "default" });
  t.equal((await portico(["backup", file], { env })).exit, 0);
  for (const id of ["first", "second", "third"]) {
    await change("Rules/Create", {
      rule: { id, scope: "<public>", access: "GRANTED", resource: "*:*:*", priority: 0 },
    });
  }
  const later = await administrator(url, data);
  await until(async () => (await greet()) === 200);

  // It leaves its lease record, and the gateway has a lease.
  await authority.stop("SIGKILL");
  const { exit, stderr } = await portico(["restore", file, "--yes"], { env });
  t.equal(exit, 0, stderr);
  t.match(stderr, /Lost:\n.*rule created third/);
  t.match(stderr, "until every gateway's lease has ended");
  t.equal(await greet(), 503, "the gateway decides nothing by what was undone");

  const restored = await authorityStarts();
  t.teardown(() => restored.stop());
  const seen = new Set<number>();
  await until(async () => {
    const status = await greet();
    seen.add(status);
    return status === 401;
  });
  t.notOk(seen.has(200), "nothing was granted by the lost rules");
  const whoAmI = async (token: Record<string, string>) => (await call(`${url}/v1/auth/WhoAmI`, {}, token)).status;
  t.same([await whoAmI(admin), await whoAmI(later)], [401, 401], "logins from before and after the backup have ended");
  t.match(await administrator(url, data), { authorization: /^Bearer / }, "the administrator logs in again");
});
