// Owners of gRPC names are in the log: they outlive a start, and authorities on one store agree.
import t from "tap";
import { GrpcNameOwners } from "../../../services/auth/grpc-name-owners.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { until } from "../../support/until.js";
import { open, openJournal } from "./open.js";

t.test("they are as before after a start, and in a store from before there were owners there are none", async (t) => {
  const store = openMemoryStore();
  const first = await open(t, { store });
  t.same([...first.authority.grpcNames.services], []);
  await first.authority.grpcNames.claim("orders", ["p.Orders"]);
  const { revision } = first.authority.grpcNames;
  const again = new GrpcNameOwners(await openJournal(store));
  t.equal(again.ownerOf("p.orders"), "orders");
  t.equal(again.revision, revision);
});

t.test("of two authorities that give a name at the same time, the log says whose it is", async (t) => {
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
  "what is released is told to those who follow, with what it was; a claim of owned names writes nothing",
  async (t) => {
    const store = openMemoryStore();
    await open(t, { store });
    const journal = await openJournal(store);
    const owners = new GrpcNameOwners(journal);
    const told: unknown[] = [];
    owners.follow((services, released) => told.push({ services, released }));
    await owners.claim("orders", ["p.Orders"]);
    const { revision } = journal.state;
    await owners.claim("thief", ["p.Orders", "p.ORDERS"]);
    t.equal(journal.state.revision, revision);
    const value = { service: "orders", names: [] };
    const author = { namespace: "default", account: "admin" };
    await journal.commit(author, () => [{ $case: "grpcNamesReleased", value }]);
    await until(() => told.length === 2);
    t.same(told, [
      { services: ["orders"], released: [] },
      { services: ["orders"], released: [{ name: "p.Orders", service: "orders" }] },
    ]);
  },
);
