// Configured services are in the log: other authorities are notified of them, and snapshots keep
// them.
import t from "tap";
import type { LogEvent } from "../../../services/auth/log/changelog/decide.js";
import { PORTICO } from "../../../services/auth/log/changelog/journal.js";
import { partsOf } from "../../../services/auth/log/state/snapshot-parts.js";
import { State } from "../../../services/auth/log/state/state.js";
import { noServiceOptions } from "../../../src/config/service-options.js";
import { Snapshot } from "../../../src/gen/portico/auth/log/v1/log.js";
import { NamesService } from "../../../src/gen/portico/auth/v1/names.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { open, openJournal } from "./open.js";

const put = (name: string): LogEvent => ({
  $case: "servicePut",
  value: {
    service: {
      name,
      targets: [{ address: "127.0.0.1:9000", weight: 5 }],
      descriptors: Buffer.from([1, 2]),
      options: { ...noServiceOptions(), metadata: ["x-tenant"] },
    },
  },
});

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
