// Pings of many guards share a reading of the store, and the guards' messages are read meanwhile.
import t, { type Test } from "tap";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { openStore } from "../../../src/store/open.js";
import { deferred } from "../../support/deferred.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";
import { FaultyStore } from "./faulty-store.js";
import { type Open, open } from "./open.js";
import { Watch } from "./watch.js";

const rule = { id: "new", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };
/** The first step of a response to a ping, on SQLite: the authority reads its lease record. */
const READ_LEASE_RECORDS = "before keys claims";

async function opened(t: Test): Promise<Open & { store: FaultyStore }> {
  const folder = temporaryFolder(t);
  const inner = await openStore("sqlite:", folder);
  t.teardown(() => inner.close());
  const store = new FaultyStore(inner);
  const it = await open(t, { folder, store, leaseMs: 60_000 });
  return { ...it, store };
}

/** A guard that has a lease. */
async function follow(t: Test, { channel }: Open): Promise<Watch> {
  const watch = new Watch(t, channel);
  watch.start();
  const { revision } = await watch.next("snapshot");
  watch.applied(revision);
  await watch.ping();
  return watch;
}

t.test("pings that arrive together share a reading of the store", async (t) => {
  const it = await opened(t);
  const guards = await Promise.all(Array.from({ length: 20 }, () => follow(t, it)));
  let readings = 0;
  it.store.onStep = (step) => {
    if (step === READ_LEASE_RECORDS) readings++;
  };
  await Promise.all(guards.map((guard) => guard.ping()));
  t.ok(readings > 0 && readings <= 3, `${readings} readings for 20 pings`);
});

t.test("an `applied` message counts while the store is read for the guard's ping", async (t) => {
  const it = await opened(t);
  const token = await it.login();
  const guard = await follow(t, it);
  const reading = deferred();
  let begun = false;
  it.store.onStep = (step) => {
    if (step !== READ_LEASE_RECORDS || begun) return;
    begun = true;
    return reading.promise;
  };
  guard.sendPing();
  await until(() => begun, { what: () => "the store is read for the ping" });
  let created = false;
  const creating = it.call(RulesService.create, { rule }, token).then(() => {
    created = true;
  });
  guard.applied((await guard.next("changes")).revision);
  await until(() => created, { what: () => "the rule is in force, because the guard has applied it" });
  reading.resolve();
  await creating;
  t.match(await guard.first(), { $case: "pong" }, "the pong comes after it");
});
