// The limits of a contract, and of all contracts in a registry. A contract at each limit is
// accepted, and one above it is refused.
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type MethodDescriptorProtoSchema,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { pino } from "pino";
import t from "tap";
import { type CheckedContract, readContract } from "../../../services/registry/contract.js";
import { Directory } from "../../../services/registry/directory.js";
import { DescriptorSet } from "../../../src/contract/descriptor-set.js";
import { endpointsOf } from "../../../src/contract/endpoint.js";
import { bindingsOf } from "../../../src/contract/http-rule.js";
import { Code } from "../../../src/errors.js";
import { HttpRule } from "../../../src/gen/google/api/http.js";
import { ownersInMemory } from "../../support/name-owners.js";
import { greeter } from "./instances.js";

type Method = MessageInitShape<typeof MethodDescriptorProtoSchema>;

const call = (name = "Call", changes: Method = {}): Method => ({
  ...{ name, inputType: ".a.M", outputType: ".a.M" },
  ...changes,
});

/** A file with the message a.M and a gRPC service with the given methods. */
const file = (methods: readonly Method[] = [call()], service = "S"): FileDescriptorProto =>
  create(FileDescriptorProtoSchema, {
    ...{ name: "a.proto", package: "a", syntax: "proto3", messageType: [{ name: "M" }] },
    service: [{ name: service, method: [...methods] }],
  });

const setOf = (...files: FileDescriptorProto[]): Buffer =>
  Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: files })));

const read = (descriptors: Buffer, grpcService = "a.S"): CheckedContract =>
  readContract("greeter", descriptors, [grpcService]);

/** The number of the extension `google.api.http` of google.protobuf.MethodOptions. */
const HTTP = 72_295_728;

/**
 * Methods with these paths by `google.api.http`.
 * @param each the number of paths of a method
 */
function bound(paths: readonly string[], each = 64): Method[] {
  const methods: Method[] = [];
  for (let at = 0; at < paths.length; at += each) {
    const [first, ...more] = paths
      .slice(at, at + each)
      .map((value) => HttpRule.fromPartial({ pattern: { $case: "get", value } }));
    const rule = HttpRule.encode({ ...(first as HttpRule), additionalBindings: more }).finish();
    const data = new BinaryWriter().bytes(rule).finish();
    const options = create(MethodOptionsSchema);
    options.$unknown = [{ no: HTTP, wireType: WireType.LengthDelimited, data }];
    methods.push(call(`Call${at}`, { options }));
  }
  return methods;
}

const paths = (count: number): string[] => Array.from({ length: count }, (_, index) => `/p/${index}`);

/** All templates with a literal or `*` at each of the given number of places. */
const product = (places: number): string[] =>
  places === 0 ? ["/end"] : product(places - 1).flatMap((rest) => [`/a${rest}`, `/*${rest}`]);

/** A file with the given number of source locations, all empty. */
function withLocations(count: number): Buffer {
  const locations = Buffer.alloc(2 * count, Buffer.of(0x0a, 0));
  const sourceInfo = new BinaryWriter().tag(9, WireType.LengthDelimited).bytes(locations).finish();
  const bytes = Buffer.concat([toBinary(FileDescriptorProtoSchema, file()), sourceInfo]);
  return Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(bytes).finish());
}

const withFiles = (count: number): Buffer =>
  setOf(
    file(),
    ...Array.from({ length: count - 1 }, (_, index) => create(FileDescriptorProtoSchema, { name: `${index}.proto` })),
  );

interface Case {
  readonly bound: string;
  readonly within: () => unknown;
  readonly beyond: () => unknown;
  readonly told: RegExp;
}

const named = (length: number): CheckedContract => {
  const name = "S".repeat(length - 2);
  return read(setOf(file([call()], name)), `a.${name}`);
};

const cases: readonly Case[] = [
  {
    bound: "1,000 files",
    within: () => read(withFiles(1_000)),
    beyond: () => read(withFiles(1_001)),
    told: /1001 files; at most 1000/,
  },
  {
    bound: "250,000 source locations",
    within: () => read(withLocations(250_000)),
    beyond: () => read(withLocations(250_001)),
    told: /250001 source locations; at most 250000 are accepted/,
  },
  {
    bound: "10,000 paths by google.api.http",
    within: () => read(setOf(file(bound(paths(10_000))))),
    beyond: () => read(setOf(file(bound(paths(10_001))))),
    told: /more than 10000 paths by google\.api\.http/,
  },
  {
    bound: "256 steps of a search for a path",
    within: () => read(setOf(file(bound(product(6))))),
    beyond: () => read(setOf(file(bound(product(7))))),
    told: /too much alike: to find one may take 3\d\d steps; at most 256/,
  },
  {
    bound: "255 characters of a gRPC service's name",
    within: () => named(255),
    beyond: () => named(256),
    told: /is not the full name of a gRPC service/,
  },
  {
    bound: "510 characters of an endpoint's name",
    within: () => read(setOf(file([call("C".repeat(500))]))),
    beyond: () => read(setOf(file([call("C".repeat(511))]))),
    told: /the name of greeter:S\.C+… is too long/,
  },
];

for (const { bound, within, beyond, told } of cases) {
  t.test(`a contract has at most ${bound}`, async (t) => {
    t.doesNotThrow(within);
    t.throws(beyond, told);
  });
}

t.test(
  "a method with at most 64 paths is served by them; one with more has none, and the contract is accepted",
  async (t) => {
    const bindings = (count: number) => bindingsOf(read(setOf(file(bound(paths(count), 65)))).endpoints[0]!.method);
    t.equal(bindings(64).bindings.length, 64);
    t.match(bindings(65), { bindings: [], problems: [/has more than 64 bindings/] });
  },
);

/**
 * A contract whose one file has the given number of elements. Nearly all of them are reserved names
 * of a message, because these are parsed fast.
 */
function ofElements(elements: number, scope: string): CheckedContract {
  const grpcServices = [`${scope}.S`];
  const type = `.${scope}.M`;
  // The file, the message, the gRPC service and the method are elements too.
  const reservedName = Array.from({ length: elements - 4 }, () => "");
  const proto = create(FileDescriptorProtoSchema, {
    ...{ name: `${scope}.proto`, package: scope, syntax: "proto3", messageType: [{ name: "M", reservedName }] },
    service: [{ name: "S", method: [{ name: "Call", inputType: type, outputType: type }] }],
  });
  const descriptors = setOf(proto);
  const set = new DescriptorSet(descriptors);
  const endpoints = endpointsOf(scope, set, grpcServices);
  return { set, given: { descriptors, grpcServices }, descriptors, grpcServices, endpoints };
}

t.test("a registry has at most 300,000 elements, and files of equal content are counted once", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  const join = (service: string, contract: CheckedContract) =>
    directory.join(greeter({ service }), { local: false, contract });
  const contracts = Array.from({ length: 6 }, (_, index) => ofElements(50_000, `s${index}`));
  const leave = contracts.map((contract, index) => join(`s${index}`, contract));
  const one = ofElements(4, "one");
  const full = { code: Code.RESOURCE_EXHAUSTED, message: /300000 elements of descriptors/ };
  t.throws(() => join("one", one), full);
  t.doesNotThrow(() =>
    directory.join(greeter({ service: "s0", id: "two" }), { local: false, contract: contracts[0]! }),
  );
  leave[0]?.();
  t.throws(() => join("one", one), full, "another instance has the contract still");
  leave[1]?.();
  t.doesNotThrow(() => join("one", one));
});

t.test("one service has at most half of them, so that others can join", async (t) => {
  const directory = new Directory({ owners: ownersInMemory(), log: pino({ level: "silent" }) });
  const join = (service: string, id: string, contract: CheckedContract) =>
    directory.join(greeter({ service, id }), { local: false, contract });
  const leave = [1, 2, 3].map((version) => join("big", `${version}`, ofElements(50_000, `v${version}`)));
  const four = ofElements(4, "v4");
  const full = {
    code: Code.RESOURCE_EXHAUSTED,
    message: "the registry is full: 150000 elements of descriptors of big",
  };
  t.throws(() => join("big", "4", four), full);
  t.doesNotThrow(() => join("other", "1", ofElements(50_000, "other")));
  leave[0]?.();
  t.doesNotThrow(() => join("big", "4", four), "once an instance with another contract has left");
});
