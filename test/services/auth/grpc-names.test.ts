// The owners of gRPC names are in the log: they stay after a restart, and authorities on one store
// agree.
import t from "tap";
import { GrpcNameOwners } from "../../../services/auth/grpc-name-owners.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { until } from "../../support/until.js";
import { open, openJournal } from "./open.js";

t.test("a restart keeps the owners, and an older store without owners has none", async (t) => {
  const store = openMemoryStore();
  const first = await open(t, { store });
  t.same([...first.authority.grpcNames.services], []);
  await first.authority.grpcNames.claim("orders", ["p.Orders"]);
  const { revision } = first.authority.grpcNames;
  const again = new GrpcNameOwners(await openJournal(store));
  t.equal(again.ownerOf("p.orders"), "orders");
  t.equal(again.revision, revision);
});

t.test("if two authorities give away a name at the same time, the log decides who owns it", async (t) => {
  const store = openMemoryStore();
  await open(t, { store });
  const journals = [await openJournal(store), await openJournal(store)] as const;
  const [here, there] = [new GrpcNameOwners(journals[0]), new GrpcNameOwners(journals[1])];
  await Promise.all([here.claim("one", ["p.A", "p.B"]), there.claim("two", ["p.A", "p.C"])]);
  await Promise.all(journals.map((journal) => journal.sync()));
  t.ok(["one", "two"].includes(here.ownerOf("p.A") ?? ""));
  for (const name of ["p.A", "p.B", "p.C"]) t.equal(here.ownerOf(name), there.ownerOf(name), name);
  t.equal(here.revision, there.revision);
});

t.test(
  "listeners are notified of released names and their former owners; claiming owned names writes nothing",
  async (t) => {
    const store = openMemoryStore();
    await open(t, { store });
    const journal = await openJournal(store);
    const owners = new GrpcNameOwners(journal);
    const changed: unknown[] = [];
    owners.follow((services, released) => changed.push({ services, released }));
    await owners.claim("orders", ["p.Orders"]);
    const { revision } = journal.state;
    await owners.claim("thief", ["p.Orders", "p.ORDERS"]);
    t.equal(journal.state.revision, revision);
    const value = { service: "orders", names: [] };
    const author = { namespace: "default", account: "admin" };
    await journal.commit(author, () => [{ $case: "grpcNamesReleased", value }]);
    await until(() => changed.length === 2);
    t.same(changed, [
      { services: ["orders"], released: [] },
      { services: ["orders"], released: [{ name: "p.Orders", service: "orders" }] },
    ]);
  },
);
