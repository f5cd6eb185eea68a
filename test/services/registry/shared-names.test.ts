// What the registry reports about services that declare a path or a gRPC service that another
// service declares too.
import { pino } from "pino";
import t from "tap";
import { NO_METADATA } from "../../../src/call/metadata.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { Instance, RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { unary } from "../../../src/rpc/client.js";
import { register } from "../../../src/rpc/registration.js";
import { buildAnnotated } from "../../support/descriptors.js";
import { until } from "../../support/until.js";
import { greeter } from "./instances.js";
import { openMesh } from "./mesh.js";

const mesh = await openMesh(t);
const channel = mesh.connect();
const LIBRARY = buildAnnotated("test/gateway/dialects/http-rule", "library.proto");

const library = (service: string, changes: Partial<Instance> = {}): Instance =>
  Instance.fromPartial({
    ...{ service, id: "one", addresses: ["127.0.0.1:9000"], descriptors: LIBRARY, grpcServices: ["library.Library"] },
    ...changes,
  });

/** The problems of a service that `portico services` shows. */
async function problemsOf(service: string, metadata = mesh.admin): Promise<string[]> {
  const { services } = await unary(channel, RegistryService.list, {}, { metadata });
  return services.find(({ name }) => name === service)?.problems ?? [];
}

/**
 * Registers the instance like its process.
 * @returns the problems in its log
 */
async function registered(instance: Instance): Promise<{ told: string[]; close: () => void }> {
  const told: string[] = [];
  const write = (line: string) => {
    const { problem } = JSON.parse(line);
    if (problem !== undefined) told.push(problem);
  };
  const metadata = await mesh.enrol(instance.service);
  const registration = register({ channel, metadata, instance, log: pino({}, { write }) });
  await registration.registered();
  return { told, close: () => registration.close() };
}

const FAULT = /Library\.Shadow: GET \/lib\/\{nothing\}: /;

t.test(
  "a service that joins gets the problems of its own annotations, and of paths and names that others declare",
  async (t) => {
    const first = await registered(library("books"));
    t.teardown(first.close);
    t.equal(first.told.length, 2);
    t.match(first.told[0], FAULT, "an annotation that cannot be used");
    t.match(first.told[1], /GET \/console\/\{name\} is below \/console, which is Portico's own$/);

    const second = await registered(library("archive"));
    t.match(second.told[0], FAULT);
    t.match(
      second.told[2],
      /^the gRPC name library\.Library belongs to books: .* header Portico-Service: archive only/,
    );
    t.ok(second.told.includes("GET /lib/shelves/* is a path of books too; it calls archive"));
    t.ok(second.told.length <= 20, "and there is a bound");

    t.ok((await problemsOf("books")).includes("GET /lib/shelves/* is a path of archive too; it calls archive"));
    second.close();
    await until(async () => (await problemsOf("books")).length === 2);
  },
);

t.test("a prefix separates paths", async (t) => {
  t.teardown(await mesh.registry.add(library("one")));
  t.teardown(await mesh.registry.add(library("two", { bindingPrefix: "/two" })));
  t.notOk((await problemsOf("two")).some((problem) => problem.includes("is a path of one")));
});

t.test("the problem is gone when the last instance of the other service has left", async (t) => {
  t.teardown(await mesh.registry.add(library("one")));
  const leaveFirst = await mesh.registry.add(library("two"));
  const leaveLast = await mesh.registry.add(library("two", { id: "two" }));
  const isTold = async () => (await problemsOf("one")).some((problem) => problem.includes("is a path of two"));
  t.ok(await isTold());
  leaveFirst();
  t.ok(await isTold());
  leaveLast();
  t.notOk(await isTold());
});

t.test("a caller that may not see the other service does not see the problem", async (t) => {
  t.teardown(await mesh.registry.add(greeter()));
  const rule = {
    id: "hidden",
    scope: "<public>",
    resource: "service:helloworld:*",
    access: Access.DENIED,
    priority: 9,
    disabled: false,
  };
  await unary(channel, RulesService.create, { rule }, { metadata: mesh.admin });
  t.match(await problemsOf("greeter"), [/belongs to helloworld/]);
  t.same(await problemsOf("greeter", NO_METADATA), []);
});
