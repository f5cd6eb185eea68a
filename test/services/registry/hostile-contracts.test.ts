// Large or hostile contracts: which are refused, that the event loop is not blocked, and how often
// a contract may change.
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type DescriptorProto, DescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { pino } from "pino";
import t from "tap";
import { readContract } from "../../../services/registry/contract.js";
import { Directory } from "../../../services/registry/directory.js";
import { printSteps } from "../../../services/registry/print-proto.js";
import { parsePathTemplate } from "../../../src/contract/path-template.js";
import { MAX_SEARCH, SearchCost } from "../../../src/contract/search-cost.js";
import { Code } from "../../../src/errors.js";
import { RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { MemoryBudget } from "../../../src/memory/memory-budget.js";
import { atOnce } from "../../../src/overload/pace.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { ownersInMemory } from "../../support/name-owners.js";
import { greeter } from "./instances.js";
import { openMesh } from "./mesh.js";

const silent = pino({ level: "silent" });

/**
 * Descriptors with the gRPC service a.S. Its method has the first message as request and response.
 */
function described(
  messages: readonly MessageInitShape<typeof DescriptorProtoSchema>[],
  files = 1,
): ReturnType<typeof greeter> {
  const each = Math.ceil(messages.length / files);
  const file = Array.from({ length: files }, (_, index) => ({
    name: `a${index}.proto`,
    package: "a",
    syntax: "proto3",
    messageType: messages.slice(index * each, (index + 1) * each).map((one) => create(DescriptorProtoSchema, one)),
    service: index > 0 ? [] : [{ name: "S", method: [{ name: "Call", inputType: ".a.M0", outputType: ".a.M0" }] }],
  }));
  const descriptors = Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })));
  return greeter({ grpcServices: ["a.S"], descriptors });
}

const empty = (count: number, version = ""): MessageInitShape<typeof DescriptorProtoSchema>[] =>
  Array.from({ length: count }, (_, index) => ({ name: index === 0 ? "M0" : `M${index}${version}` }));

/** Messages in a chain: each has a field of the next one's type. */
const chain = (length: number): MessageInitShape<typeof DescriptorProtoSchema>[] =>
  Array.from({ length }, (_, index) => ({
    name: `M${index}`,
    field: index === length - 1 ? [] : [{ name: "next", number: 1, label: 1, type: 11, typeName: `.a.M${index + 1}` }],
  }));

/** A message with the given number of nesting levels, including the innermost. */
function nested(levels: number): DescriptorProto {
  let message = create(DescriptorProtoSchema, { name: "M0" });
  for (let level = 1; level < levels; level++)
    message = create(DescriptorProtoSchema, { name: "M0", nestedType: [message] });
  return message;
}

const read = ({ service, descriptors, grpcServices }: ReturnType<typeof greeter>) =>
  readContract(service, descriptors, grpcServices);

t.test("a contract above a limit is refused, and the error names the limit", async (t) => {
  t.throws(() => read(described(empty(60_000))), /60\d{3} elements; at most 50000 are accepted/);
  t.throws(
    () => read(described(empty(20_001))),
    /a file of 2000\d elements; at most 20000 are accepted in one: divide it/,
  );
  t.throws(() => read(described([nested(33)])), /nested more than 32 deep/);
  t.doesNotThrow(() => read(described([nested(32)])));
});

t.test("the event loop is not blocked while a contract of 45,000 elements is read", async (t) => {
  const instance = described(empty(45_000), 5);
  const directory = new Directory({ owners: ownersInMemory(), log: silent });
  let turns = 0;
  let isRead = false;
  const reading = directory.read(instance).finally(() => (isRead = true));
  while (!isRead) {
    await new Promise(setImmediate);
    turns++;
  }
  t.equal((await reading).endpoints.length, 1);
  t.ok(turns >= 5, `${turns} turns, at least one for each file`);
});

t.test("reading a contract reserves memory from the budget, and is refused if there is none", async (t) => {
  const instance = described(empty(5_000));
  const small = new Directory({
    owners: ownersInMemory(),
    log: silent,
    budget: new MemoryBudget({ limit: 1_000_000 }),
  });
  await t.rejects(small.read(instance), {
    code: Code.RESOURCE_EXHAUSTED,
    message: /no memory to read the contract .* takes \d+ MiB/,
  });
  const budget = new MemoryBudget({ limit: 50_000_000 });
  let most = 0;
  let isRead = false;
  const directory = new Directory({ owners: ownersInMemory(), log: silent, budget });
  const reading = directory.read(instance).finally(() => (isRead = true));
  while (!isRead) {
    most = Math.max(most, budget.reserved);
    await new Promise(setImmediate);
  }
  await reading;
  t.ok(most >= 5_000 * 1_024, `${most} bytes`);
  t.equal(budget.reserved, 0);
});

t.test("a contract may change at most 10 times a minute, and the operator is notified once", async (t) => {
  const told: { service: string; reason: string }[] = [];
  const log = pino({ level: "warn" }, { write: (line) => told.push(JSON.parse(line)) });
  const directory = new Directory({ owners: ownersInMemory(), log });
  for (let version = 0; version < 10; version++) await directory.read(described(empty(3, `v${version}`)));
  const next = () => directory.read(described(empty(3, "next")));
  const message = /the contract of greeter changed 10 times within a minute; the next one is read in \d+ s/;
  await t.rejects(next(), { code: Code.RESOURCE_EXHAUSTED, message });
  await t.rejects(next(), { code: Code.RESOURCE_EXHAUSTED });
  t.match(told, [{ service: "greeter", reason: message }]);
  t.equal(told.length, 1);
  await t.resolves(
    directory.read({ ...described(empty(3, "next")), service: "other" }),
    "another service is not concerned",
  );
});

t.test("instances with one contract cost one reading, whether they join at once or one after the other", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: silent });
  const join = async (version: string, id: string) => {
    const instance = { ...described(empty(3, version)), id };
    return directory.join(instance, { local: false, contract: await directory.read(instance) });
  };
  await Promise.all(Array.from({ length: 50 }, (_, index) => join(index % 2 === 0 ? "a" : "b", `${index}`)));
  for (let round = 0; round < 50; round++) (await join("c", "last"))();
  await Promise.all(Array.from({ length: 50 }, (_, index) => join(index % 2 === 0 ? "b" : "a", `${index}`)));
  t.equal(directory.services.get("greeter")?.length, 50);
});

t.test("a message of 9,000 fields, each of a nested type, is printed", async (t) => {
  const fields = Array.from({ length: 9_000 }, (_, index) => ({
    ...{ name: `f${index}`, number: index + 1, label: 1, type: 11, typeName: `.a.M0.N${index}` },
  }));
  const nestedType = fields.map((_, index) => ({ name: `N${index}` }));
  const { endpoints } = read(described([create(DescriptorProtoSchema, { name: "M0", field: fields, nestedType })]));
  const text = atOnce(printSteps(endpoints.map(({ method }) => method)));
  t.match(text, /N8999 f8999 = 9000;/);
});

t.test("messages that refer to each other in a chain of 5,000 are printed in steps", async (t) => {
  const { endpoints } = read(described(chain(5_000)));
  let steps = 0;
  const printing = printSteps(endpoints.map(({ method }) => method));
  let { done, value } = printing.next();
  for (; !done; { done, value } = printing.next()) steps++;
  t.match(value, /message M4998 {\n {2}M4999 next = 1;\n}\n\nmessage M4999 {}/);
  t.ok(steps > 10_000, `${steps} steps: each message is found in one, and printed in one`);
});

t.test("a service registers a chain of 5,000 messages over the network, and its contract is described", async (t) => {
  const mesh = await openMesh(t);
  const channel = mesh.connect();
  const registration = stream(channel, RegistryService.register, { metadata: await mesh.enrol("greeter") });
  t.teardown(() => registration.cancel());
  registration.send({ instance: described(chain(5_000)) });
  await registration.responses[Symbol.asyncIterator]().next();
  const describe = (service: string) => unary(channel, RegistryService.describe, { service }, { metadata: mesh.admin });
  const { service, proto } = await describe("greeter");
  t.match(service?.endpoints, [{ resource: "service:greeter:S.Call" }]);
  t.match(proto, /rpc Call\(M0\) returns \(M0\);/);
  t.equal(proto.match(/^message M\d+ \{/gm)?.length, 5_000);
  t.match((await describe("helloworld")).proto, /rpc Call\(CallRequest\)/, "other services are described after it");
});

/** All templates with a literal or `*` at each of the given number of places. */
const product = (places: number): string[] =>
  places === 0 ? ["/end"] : product(places - 1).flatMap((rest) => [`/a${rest}`, `/*${rest}`]);

const costOf = (templates: readonly string[]): number => {
  const cost = new SearchCost();
  for (const text of templates) cost.add(parsePathTemplate(text));
  return cost.steps;
};

t.test("the cost of path templates depends on the paths through them, not on their number", async (t) => {
  t.ok(costOf(product(13)) > 8_192);
  t.ok(costOf(product(13)) > MAX_SEARCH);
  t.equal(costOf(Array.from({ length: 8_192 }, (_, index) => `/v1/shelves${index}/*`)), 4);
  t.ok(costOf([`/${"a/".repeat(62)}a`]) <= MAX_SEARCH, "a template of most segments");
});
