/** Instances that cannot register, and the errors that they get. */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { pino } from "pino";
import t from "tap";
import { Directory } from "../../../services/registry/directory.js";
import { Code } from "../../../src/errors.js";
import type { Instance } from "../../../src/gen/portico/registry/v1/registry.js";
import { ownersInMemory } from "../../support/name-owners.js";
import { greeter } from "./instances.js";

/** A file `a.proto` with the message a.M and the service a.S with the given methods. */
const file = (methods: readonly string[], changes: MessageInitShape<typeof FileDescriptorProtoSchema> = {}) =>
  create(FileDescriptorProtoSchema, {
    name: "a.proto",
    package: "a",
    syntax: "proto3",
    messageType: [{ name: "M" }],
    service: [{ name: "S", method: methods.map((name) => ({ name, inputType: ".a.M", outputType: ".a.M" })) }],
    ...changes,
  });
const described = (...files: FileDescriptorProto[]): Partial<Instance> => ({
  grpcServices: ["a.S"],
  descriptors: Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: files }))),
});
/** The field with the given number and content, of length-delimited type. */
const field = (number: number, content: Buffer) => {
  const length: number[] = [];
  for (let rest = content.length; ; rest >>>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) return Buffer.concat([Buffer.of((number << 3) | 2), Buffer.from(length), content]);
  }
};
const nested = (depth: number): Buffer => (depth === 0 ? Buffer.alloc(0) : field(3, nested(depth - 1)));

const cases: readonly (readonly [name: string, instance: Partial<Instance>, told: RegExp])[] = [
  ["no name", { service: "" }, /service name "" must be/],
  ["upper case", { service: "Greeter" }, /must be 1 to 63 lower-case letters/],
  ["a colon, which would be another resource", { service: "a:b" }, /must be 1 to 63/],
  ["a slash", { service: "a/b" }, /must be 1 to 63/],
  ["64 characters", { service: "a".repeat(64) }, /must be 1 to 63/],
  ["the authority's name", { service: "auth" }, /reserved/],
  ["the registry's name", { service: "registry" }, /reserved/],
  ...["v1", "livez", "readyz", "openapi", "explore", "console", "metrics", "gateway"].map(
    (service) => [`the path /${service}`, { service }, /reserved/] as const,
  ),
  ["no id", { id: "" }, /id must be/],
  ["an id with a line break", { id: "a\nb" }, /id must be/],
  ["no address", { addresses: [] }, /0 addresses/],
  ["17 addresses", { addresses: Array(17).fill("127.0.0.1:1") }, /17 addresses/],
  ["no port", { addresses: ["127.0.0.1"] }, /must be host:port/],
  ["port 0", { addresses: ["127.0.0.1:0"] }, /must be host:port/],
  ["port 65536", { addresses: ["127.0.0.1:65536"] }, /must be host:port/],
  ["a URL", { addresses: ["http://127.0.0.1:1"] }, /must be host:port/],
  ["a URL with TLS", { addresses: ["https://127.0.0.1:1"] }, /must be host:port/],
  ["a path after the port", { addresses: ["127.0.0.1:1/x"] }, /must be host:port/],
  ["no gRPC service", { grpcServices: [] }, /no gRPC service is named/],
  ["infrastructure only", { grpcServices: ["grpc.health.v1.Health"] }, /no gRPC service is named/],
  ["one gRPC service twice", { grpcServices: ["a.S", "a.S"] }, /named twice/],
  ["a gRPC service that is no name", { grpcServices: ["a/b"] }, /not the full name of a gRPC service/],
  ["101 gRPC services", { grpcServices: Array.from({ length: 101 }, (_, n) => `a.S${n}`) }, /more than 100/],
  ["a gRPC service not described", { grpcServices: ["a.S"] }, /lack the gRPC service a\.S/],
  ["no descriptors", { descriptors: Buffer.alloc(0) }, /lack the gRPC service/],
  ["bytes of something else", { descriptors: Buffer.from("hello world") }, /no usable google\.protobuf\.FileDescr/],
  ["too many bytes", { descriptors: Buffer.alloc(4 * 1024 ** 2) }, /4194304 bytes; at most/],
  ["a length beyond the end", { descriptors: Buffer.from([0x0a, 0x7f, 0x22]) }, /no usable/],
  ["two million empty files", { descriptors: Buffer.alloc(4e6, Buffer.from([0x0a, 0])) }, /2000000 elements; at most/],
  [
    "two million empty fields of a message",
    { descriptors: field(1, field(4, Buffer.alloc(4e6, Buffer.from([0x12, 0])))) },
    /2000002 elements; at most/,
  ],
  ["messages nested 5,000 deep", { descriptors: field(1, field(4, nested(5000))) }, /no usable/],
  ["a missing import", described(file(["Call"], { dependency: ["b.proto"] })), /lack b\.proto, which a\.proto imports/],
  [
    "a circle of imports",
    described(
      file(["Call"], { dependency: ["b.proto"] }),
      create(FileDescriptorProtoSchema, { name: "b.proto", dependency: ["a.proto"] }),
    ),
    /import each other/,
  ],
  ["a file that imports itself", described(file(["Call"], { dependency: ["a.proto"] })), /import each other/],
  ["a type that is missing", described(file(["Call"], { messageType: [] })), /not found/],
  [
    "methods that differ in case",
    described(file(["Call", "CALL"])),
    /S\.Call and greeter:S\.CALL differ at most in case/,
  ],
  ["a method that is no name", described(file(['x"; drop'])), /invalid method name/],
  ["a package that is no name", described(file(["Call"], { package: "a\nb" })), /no package name/],
  [
    "1,001 methods",
    described(file(Array.from({ length: 1001 }, (_, n) => `Call${n}`))),
    /1001 endpoints; at most 1000/,
  ],
];

for (const [name, changes, told] of cases) {
  t.test(`refused: ${name}`, async (t) => {
    const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
    const leave = directory.join(greeter({ service: "other" }), { local: false });
    t.throws(() => directory.join(greeter(changes), { local: false }), { code: Code.INVALID_ARGUMENT, message: told });
    t.same([...directory.services.keys()], ["other"], "nothing has changed");
    leave();
  });
}

t.test("a refused instance does not replace the one with its ID", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  directory.join(greeter(), { local: false });
  t.throws(() => directory.join(greeter({ descriptors: Buffer.alloc(0) }), { local: false }));
  t.equal(directory.services.get("greeter")?.length, 1);
});

t.test("the authority's own process may serve auth and registry, and needs no address", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  for (const service of ["auth", "registry"]) directory.join(greeter({ service, addresses: [] }), { local: true });
  t.same([...directory.services.keys()], ["auth", "registry"]);
});

t.test("a service has at most 1,000 instances", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  for (let count = 0; count < 1000; count++) directory.join(greeter({ id: `id${count}` }), { local: false });
  t.throws(() => directory.join(greeter({ id: "more" }), { local: false }), { code: Code.RESOURCE_EXHAUSTED });
  t.doesNotThrow(() => directory.join(greeter({ id: "id7" }), { local: false }), "one that takes another's place may");
  t.doesNotThrow(() => directory.join(greeter({ service: "other" }), { local: false }));
});

t.test("a registry has at most 10,000 instances", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  for (let count = 0; count < 10_000; count++) {
    directory.join(greeter({ service: `greeter${count % 10}`, id: `id${count}` }), { local: false });
  }
  t.throws(() => directory.join(greeter(), { local: false }), { code: Code.RESOURCE_EXHAUSTED, message: /10000/ });
});

t.test("a registry has at most 256 MiB of descriptors, and equal descriptors are counted once", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  const large = described(file(["Call"], { name: `${"x".repeat(4_000_000)}.proto` }));
  for (let count = 0; count < 67; count++) {
    directory.join(greeter({ ...large, service: `large${count}` }), { local: false });
  }
  t.throws(() => directory.join(greeter({ ...large, service: "more" }), { local: false }), {
    code: Code.RESOURCE_EXHAUSTED,
    message: /bytes of descriptors/,
  });
  t.doesNotThrow(() => directory.join(greeter({ ...large, service: "large0", id: "two" }), { local: false }));
});
