// The definition of another service comes whole, with its imports, or not at all.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { addProto } from "../../../cli/dev/add-proto.js";
import { calledServices } from "../../../cli/dev/called-services.js";
import { ioOf } from "../command-line.js";

interface Declared {
  readonly package?: string;
  readonly service?: { name: string }[];
  readonly sourceCodeInfo?: { location: { leadingComments: string }[] };
}

const fileOf = (name: string, dependency: string[] = [], more: Declared = {}) =>
  create(FileDescriptorProtoSchema, { name, dependency, package: "orders", ...more });
const ORDERS = fileOf("orders/orders.proto", ["google/protobuf/timestamp.proto", "shop/money.proto"], {
  service: [{ name: "Orders" }],
});
const MONEY = fileOf("shop/money.proto");

/** Runs the command in a project, with a gateway that has a contract of these files. */
async function add(folder: string, files: readonly FileDescriptorProto[]): Promise<string> {
  const { io, outcome } = ioOf({});
  const client = { contractOf: async () => files.map((file) => toBinary(FileDescriptorProtoSchema, file)) };
  await addProto("Orders", folder, { io, client } as unknown as Parameters<typeof addProto>[2]);
  return outcome(0).stdout;
}

t.test("writes a service's files after the files that they import, with google/protobuf/", async (t) => {
  const folder = t.testdir({ proto: {} });
  const stdout = await add(folder, [ORDERS, MONEY]);
  t.match(stdout, /clients\/orders\.binpb\n/);
  t.match(stdout, 'import { OrdersService } from "./gen/orders/orders.js";\n  call.client(OrdersService, "orders")');
  const { file } = fromBinary(FileDescriptorSetSchema, readFileSync(join(folder, "clients/orders.binpb")));
  t.same(
    file.map(({ name }) => name),
    ["google/protobuf/timestamp.proto", "shop/money.proto", "orders/orders.proto"],
  );
});

t.test("names an import that is missing, and writes nothing", async (t) => {
  const folder = t.testdir({ proto: {} });
  const missing =
    /^orders\/orders\.proto imports shop\/money\.proto, which the contract of orders does not have\. Noth/;
  await t.rejects(add(folder, [ORDERS]), { message: missing });
  t.notOk(existsSync(join(folder, "clients")));
  await t.rejects(add(t.testdir(), [MONEY]), /it has no folder proto/);
});

t.test("a definition that is added again is replaced", async (t) => {
  const folder = t.testdir({ proto: {} });
  await add(folder, [ORDERS, MONEY]);
  await add(folder, [fileOf("orders/v2.proto")]);
  const found = calledServices([], folder);
  t.match(found, { files: [{ name: "orders/v2.proto" }] });
  t.same(readdirSync(join(folder, "clients")), ["orders.binpb"]);
});

t.test("files that differ under one name are a problem, comments are none", async (t) => {
  const folder = t.testdir({ proto: {} });
  await add(folder, [ORDERS, MONEY]);
  const commented = fileOf(MONEY.name, [], { sourceCodeInfo: { location: [{ leadingComments: "x" }] } });
  const same = calledServices([commented], folder);
  t.match(same, { files: [{ name: "google/protobuf/timestamp.proto" }, { name: "orders/orders.proto" }] });
  const other = calledServices([fileOf(MONEY.name, [], { package: "money" })], folder);
  t.same(other, { problems: [{ message: "shop/money.proto differs in proto/ and clients/orders.binpb" }] });
});

t.test("a file that is no definition is named", async (t) => {
  const folder = t.testdir({});
  mkdirSync(join(folder, "clients"));
  writeFileSync(join(folder, "clients/orders.binpb"), "\xff\xff");
  t.throws(() => calledServices([], folder), /clients\/orders\.binpb is no definition that portico add proto has writ/);
});
