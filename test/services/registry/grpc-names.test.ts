// A gRPC name belongs to the service that claimed it first, whether it runs or not, until the name
// is released.

import { pino } from "pino";
import t, { type Test } from "tap";
import { MAX_GRPC_NAMES } from "../../../services/auth/log/state/grpc-names.js";
import { NO_METADATA } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { AuditService } from "../../../src/gen/portico/auth/v1/audit.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { NamesService } from "../../../src/gen/portico/auth/v1/names.js";
import { Instance, RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { register } from "../../../src/rpc/registration.js";
import { ALL_RECORDS } from "../../support/audit.js";
import { declaring } from "./instances.js";
import { openMesh } from "./mesh.js";

const silent = pino({ level: "silent" });

const instance = (service: string, names: string[] = ["Orders"], id = "one"): Instance =>
  Instance.fromPartial({
    ...{ service, id, addresses: ["127.0.0.1:9000"], descriptors: declaring(...names.map((name) => `p.${name}`)) },
    grpcServices: names.map((name) => `p.${name}`),
  });

async function openNames(t: Test) {
  const mesh = await openMesh(t);
  const channel = mesh.connect();
  const asAdmin = { metadata: mesh.admin };
  return {
    mesh,
    owner: (name: string) => mesh.owners.ownerOf(name),
    /** Registers like the service's process. Resolves when it is registered. */
    async registered(one: Instance) {
      const metadata = await mesh.enrol(one.service);
      const registration = register({ channel, metadata, instance: one, log: silent });
      t.teardown(() => registration.close());
      await registration.registered();
      return { close: () => registration.close() };
    },
    release: (service: string, name = "", metadata = mesh.admin) =>
      unary(channel, NamesService.release, { service, name }, { metadata }),
    listed: async () => (await unary(channel, NamesService.list, {}, asAdmin)).services,
    deleteEnrolment: (name: string, id = "") => unary(channel, EnrolmentsService.delete, { name, id }, asAdmin),
    async problemsOf(service: string): Promise<string[]> {
      const { services } = await unary(channel, RegistryService.list, {}, asAdmin);
      return services.find(({ name }) => name === service)?.problems ?? [];
    },
    async audit(): Promise<string[]> {
      const { records } = await unary(channel, AuditService.list, { ...ALL_RECORDS, before: 0n, limit: 5 }, asAdmin);
      return records.map(({ actor, action, subject }) => `${actor} ${action} ${subject}`);
    },
  };
}

t.test(
  "the service that registers first owns the name; another one joins too, and gets a problem report",
  async (t) => {
    const it = await openNames(t);
    await it.registered(instance("orders"));
    await it.registered(instance("thief"));
    t.equal(it.owner("p.Orders"), "orders");
    t.equal(it.owner("P.ORDERS"), "orders", "without regard to case");
    t.same(await it.problemsOf("orders"), []);
    t.match(await it.problemsOf("thief"), [
      /^the gRPC name p\.Orders belongs to orders: .* header Portico-Service: thief only; portico services release orders p\.Orders/,
    ]);
    t.ok((await it.audit()).includes("portico gRPC names claimed orders: p.Orders"));
  },
);

t.test(
  "the name stays with its service after its last instance has left, and an administrator still sees why",
  async (t) => {
    const it = await openNames(t);
    const orders = await it.registered(instance("orders"));
    orders.close();
    await it.registered(instance("thief"));
    t.equal(it.owner("p.Orders"), "orders");
    t.match(await it.problemsOf("thief"), [/belongs to orders/]);
  },
);

t.test("one of several concurrent registrations owns the name", async (t) => {
  const it = await openNames(t);
  const services = ["one", "two", "three", "four"];
  await Promise.all(services.map((service) => it.registered(instance(service))));
  const owners = (await it.listed()).filter(({ names }) => names.includes("p.Orders"));
  t.equal(owners.length, 1);
  t.ok(services.includes(owners[0]?.service ?? ""));
});

t.test("names that differ only in case are the same name", async (t) => {
  const it = await openNames(t);
  await it.registered(instance("orders"));
  await it.registered(instance("thief", ["ORDERS"]));
  t.equal(it.owner("p.ORDERS"), "orders");
  t.match(await it.problemsOf("thief"), [/the gRPC name p\.ORDERS belongs to orders/]);
});

t.test("a released name goes to the first service that waits for it, or else to the next that registers", async (t) => {
  const it = await openNames(t);
  await it.registered(instance("orders", ["Orders", "Carts"]));
  await it.registered(instance("second"));
  await it.registered(instance("third"));
  t.same(await it.release("orders", "p.orders"), { names: ["p.Orders"] });
  t.equal(it.owner("p.Orders"), "second");
  t.equal(it.owner("p.Carts"), "orders", "the other one stays");
  t.match(await it.problemsOf("orders"), [/the gRPC name p\.Orders belongs to second/]);
  t.same(await it.release("orders"), { names: ["p.Carts"] }, "all of a service");
  t.equal(it.owner("p.Carts"), undefined, "who has it now must not have it again by that");
  await it.registered(instance("fourth", ["Carts"]));
  t.equal(it.owner("p.Carts"), "fourth");
  t.ok((await it.audit()).includes("admin gRPC names released orders: p.Carts"));
});

t.test("only administrators of the namespace default release and list names", async (t) => {
  const it = await openNames(t);
  await it.registered(instance("orders"));
  const enrolled = await it.mesh.enrol("orders");
  await t.rejects(it.release("orders", "", NO_METADATA), { code: Code.UNAUTHENTICATED });
  await t.rejects(it.release("orders", "", enrolled), { code: Code.UNAUTHENTICATED });
  t.equal(it.owner("p.Orders"), "orders");
  await t.rejects(it.release("thief"), { code: Code.NOT_FOUND, message: "no gRPC name belongs to thief" });
  await t.rejects(it.release("thief", "p.Orders"), {
    code: Code.NOT_FOUND,
    message: "p.Orders does not belong to thief, but to orders",
  });
});

t.test("deleting the last enrolment of a service releases its names, deleting one of several does not", async (t) => {
  const it = await openNames(t);
  await it.registered(instance("orders"));
  const [first] = (await unary(it.mesh.inProcess, EnrolmentsService.list, {}, { metadata: it.mesh.admin })).enrolments
    .filter(({ name }) => name === "orders")
    .map(({ id }) => id);
  await it.mesh.enrol("orders");
  await it.deleteEnrolment("orders", first);
  t.equal(it.owner("p.Orders"), "orders");
  await it.registered(instance("second"));
  await it.deleteEnrolment("orders");
  t.equal(it.owner("p.Orders"), "second");
});

t.test(
  "a service that joins without an enrolment keeps its names when an enrolment of its name is deleted",
  async (t) => {
    const it = await openNames(t);
    await it.deleteEnrolment("helloworld");
    t.equal(it.owner("helloworld.Helloworld"), "helloworld");
  },
);

t.test("a registration whose token was revoked in the meantime claims no name", async (t) => {
  const it = await openNames(t);
  await t.rejects(it.mesh.owners.claim("orders", ["p.Orders"], "00".repeat(32)), { code: Code.UNAUTHENTICATED });
  t.equal(it.owner("p.Orders"), undefined);
});

t.test("a service owns at most 1,000 names; further names are served, and reported as a problem", async (t) => {
  const it = await openNames(t);
  const names = Array.from({ length: MAX_GRPC_NAMES - 1 }, (_, index) => `p.Old${index}`);
  await it.mesh.owners.claim("orders", names);
  await it.registered(instance("orders", ["A", "B"]));
  t.same([it.owner("p.A"), it.owner("p.B")], ["orders", undefined]);
  t.match(await it.problemsOf("orders"), [/p\.B belongs to no service, .* release some/]);
  await it.registered(instance("other", ["B"]));
  t.equal(it.owner("p.B"), "other");
});

const RESERVED = ["portico.auth.v1.Auth", "portico.shop.Orders", "Portico.Auth", "GRPC.Health.Y"];

t.test("names of Portico are refused, and names of gRPC in another case", async (t) => {
  const it = await openNames(t);
  for (const name of RESERVED) {
    const wrong = Instance.fromPartial({
      ...{ service: "thief", id: "one", addresses: ["127.0.0.1:9000"], grpcServices: [name] },
      descriptors: declaring(name),
    });
    const call = stream(it.mesh.connect(), RegistryService.register, { metadata: await it.mesh.enrol("thief") });
    call.send({ instance: wrong });
    await t.rejects(call.responses[Symbol.asyncIterator]().next(), {
      code: Code.INVALID_ARGUMENT,
      message: `the gRPC service ${name} is in a package that only Portico serves (portico.*, grpc.health.*, grpc.reflection.*): rename it`,
    });
    t.not(it.owner(name), "thief", "and what is refused claims nothing");
  }
});

t.test(
  "a service may have other names below grpc, such as the names in grpc-go's interoperability tests",
  async (t) => {
    const it = await openNames(t);
    await it.registered(
      Instance.fromPartial({
        ...{ service: "interop", id: "one", addresses: ["127.0.0.1:9000"], grpcServices: ["grpc.testing.Test"] },
        descriptors: declaring("grpc.testing.Test"),
      }),
    );
    t.equal(it.owner("grpc.testing.Test"), "interop");
  },
);

t.test("a watch is sent all owners before any instance, then each change", async (t) => {
  const it = await openNames(t);
  await it.mesh.owners.claim("away", ["p.Away"]);
  const call = stream(it.mesh.connect(), RegistryService.watch, { metadata: it.mesh.gateway });
  call.send({ confirmed: 0n });
  call.end();
  t.teardown(() => call.cancel());
  const messages = call.responses[Symbol.asyncIterator]();
  const first = (await messages.next()).value!;
  t.match(
    first.owners.find(({ service }: { service: string }) => service === "away"),
    { names: ["p.Away"] },
    "also of a service without an instance",
  );
  t.equal(first.ownersRevision, BigInt(it.mesh.owners.revision));
  await it.release("away");
  const next = (await messages.next()).value!;
  t.match(next, { owners: [{ service: "away", names: [] }], ownersRevision: BigInt(it.mesh.owners.revision) });
});
