/** An authority is restarted within the lease of a remote gateway's guard: no call fails. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { administrator, answered, call, type Portico, start } from "../../support/process.js";
import { until } from "../../support/until.js";

/** Longer than a start takes on a busy machine. */
const LEASE = "15s";
const data = await installation(t.testdir());
const grpc = `127.0.0.1:${await freePort()}`;
const settings = { PORTICO_DATA: data, PORTICO_LEASE: LEASE, PORTICO_GRPC: grpc };
let authority = await start(["authority"], settings);
const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: grpc };
const service = await start(["service", "helloworld"], joined);
const gateway = await start(["gateway"], joined);
t.teardown(() => Promise.all([authority, service, gateway].map((portico: Portico) => portico.stop("SIGKILL"))));
const http = gateway.address("HTTP");
const login = { account: "admin", password: readFileSync(join(data, "admin-password"), "utf8").trim() };
await answered(() => call(`${http}/auth/login`, login), 200);
await answered(() => call(`${http}/helloworld/call`), 200);

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  await t.test(`by ${signal}`, async (t) => {
    const admin = await administrator(http, data);
    const statuses = new Map<string, number>();
    const count = async (name: string, headers: Record<string, string>, path: string): Promise<void> => {
      const response = await call(`${http}/${path}`, { name: "Ada" }, headers).catch((error) => ({
        status: error.message,
      }));
      const key = `${name} ${response.status}`;
      statuses.set(key, (statuses.get(key) ?? 0) + 1);
    };
    await count("with a token", admin, "v1/helloworld/Call");
    let over = false;
    const load = (async () => {
      while (!over) {
        await Promise.all([count("with a token", admin, "v1/helloworld/Call"), count("public", {}, "helloworld/call")]);
        await sleep(10);
      }
    })();
    await authority.stop(signal);
    authority = await start(["authority"], settings);
    // The gateway has continued to decide. Its first call to the authority after the restart
    // succeeds, and may be a change.
    t.equal((await call(`${http}/v1/auth/Keys/Create`, { name: `after ${signal}` }, admin)).status, 200);
    const enough = total(statuses) + 20;
    await until(() => total(statuses) >= enough, { what: () => `${enough} calls: ${JSON.stringify([...statuses])}` });
    over = true;
    await load;
    t.same([...statuses.keys()].sort(), ["public 200", "with a token 200"], JSON.stringify([...statuses]));
  });
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
