// Configured services are in the log: other authorities are notified of them, snapshots keep them,
// and their number and size are bounded.
import t from "tap";
import type { LogEvent } from "../../../services/auth/log/changelog/decide.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { partsOf } from "../../../services/auth/log/state/snapshot-parts.js";
import { State } from "../../../services/auth/log/state/state.js";
import { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { hashToken } from "../../../src/call/token.js";
import { noServiceOptions } from "../../../src/config/service-options.js";
import { Code } from "../../../src/errors.js";
import { Snapshot } from "../../../src/gen/portico/auth/log/v1/log.js";
import { NamesService } from "../../../src/gen/portico/auth/v1/names.js";
import type { ConfiguredService } from "../../../src/gen/portico/registry/v1/services.js";
import type { Context } from "../../../src/rpc/service.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { open, openJournal } from "./open.js";

function service(name: string, descriptors = Buffer.from([1, 2]), httpRules = ""): ConfiguredService {
  const options = { ...noServiceOptions(), metadata: ["x-tenant"], httpRules };
  return { name, targets: [{ address: "127.0.0.1:9000", weight: 5 }], descriptors, options };
}

const put = (name: string): LogEvent => ({ $case: "servicePut", value: { service: service(name) } });

t.test("an authority is notified of the services that another one has put or deleted", async (t) => {
  const store = openMemoryStore();
  const { authority, call, login } = await open(t, { store });
  const token = await login();
  const other = await openJournal(store);
  const seen: string[][] = [];
  authority.serviceLog.follow(() => seen.push([...authority.serviceLog.services.keys()]));
  const sync = () => call(NamesService.list, {}, token);
  await other.commit(PORTICO, () => [put("shop"), put("orders")]);
  await sync();
  await other.commit(PORTICO, () => [{ $case: "installationCreated", value: { id: "another change" } }]);
  await sync();
  await other.commit(PORTICO, () => [{ $case: "serviceDeleted", value: { name: "shop" } }]);
  await sync();
  t.same(seen, [["shop", "orders"], ["orders"]]);
});

t.test("a snapshot keeps the services", async (t) => {
  const store = openMemoryStore();
  await open(t, { store });
  const journal = await openJournal(store);
  await journal.commit(PORTICO, () => [put("shop")]);
  const frozen = journal.state.freeze();
  const state = new State();
  for (const part of partsOf(frozen)) await state.merge(Snapshot.decode(part));
  frozen.release();
  t.same([...state.services], [...journal.state.services]);
});

/** A call of the administrator. */
function contextOf(token: string): Context {
  const expires = { seconds: 4_000_000_000n, nanos: 0 };
  const admin = { namespace: "default", namespaceId: "", account: "admin", scopes: ["admin"], expires };
  const caller = new KnownCaller(
    hashToken(token),
    { ...admin, resources: [], from: [], reportUse: false, enrolment: "" },
    0,
  );
  return { caller, endpoint: "registry:Services.Put", metadata: [], clientAddress: "127.0.0.1" } as unknown as Context;
}

const [DESCRIPTORS, RULES] = [Buffer.alloc(1024 ** 2), "r".repeat(255 * 1024)];
const numbered = (count: number, one: (name: string) => ConfiguredService) =>
  Array.from({ length: count }, (_, index) => one(`s${index}`));
const LIMITS = [
  { what: "1000", present: numbered(1000, (name) => service(name)), one: service("more") },
  {
    what: "32 MiB of descriptors",
    present: numbered(32, (name) => service(name, DESCRIPTORS)),
    one: service("more"),
  },
  {
    what: "2 MiB of options and HTTP rules",
    present: numbered(8, (name) => service(name, Buffer.alloc(0), RULES)),
    one: service("more", Buffer.alloc(0), "r".repeat(16 * 1024)),
  },
];
for (const { what, present, one } of LIMITS) {
  t.test(`the log has at most ${what} of services`, async (t) => {
    const store = openMemoryStore();
    const { authority, login } = await open(t, { store });
    const context = contextOf(await login());
    const journal = await openJournal(store);
    const events = present.map((service): LogEvent => ({ $case: "servicePut", value: { service } }));
    for (const event of events) await journal.commit(PORTICO, () => [event]);
    await authority.serviceLog.sync(context);
    const add = (service: ConfiguredService, dryRun = false) =>
      authority.serviceLog.put(context, service, { create: false, keepDescriptors: false, dryRun });
    const names = () => [...authority.serviceLog.services.keys()];
    const before = names();
    const full = { code: Code.RESOURCE_EXHAUSTED, message: new RegExp(`at most ${what} of configured`) };
    for (const dryRun of [true, false]) await t.rejects(add(one, dryRun), full);
    await add(present[0]!);
    t.same(names(), before);
    await authority.serviceLog.delete(context, "s1");
    await add(one, true);
    t.notOk(names().includes(one.name), "a dry run adds nothing");
    await add(one);
    t.equal(authority.serviceLog.services.size, present.length);
  });
}
