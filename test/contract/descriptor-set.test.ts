// The descriptors of a service are parsed when its types are first used. Files with equal content
// are parsed once.
import type { Registry } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import t from "tap";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { commentOf } from "../../src/contract/comments.js";
import { DescriptorSet, filesOf } from "../../src/contract/descriptor-set.js";
import { endpointsOf } from "../../src/contract/endpoint.js";

const URL = descriptorsOf("url");
const fileOf = (types: Registry, message: string) => types.getMessage(message)?.file;

function setOf(files: readonly Uint8Array[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const file of files) writer.tag(1, WireType.LengthDelimited).bytes(file);
  return writer.finish();
}

t.test("endpoints know everything except the fields of their messages before types are parsed", async (t) => {
  const set = new DescriptorSet(URL);
  let parsed = 0;
  const { types } = set;
  const get = (): Registry => {
    parsed++;
    return types;
  };
  Object.defineProperty(set, "types", { get });
  const [lazy] = endpointsOf("url", set, ["url.Url"]);
  const [eager] = endpointsOf("url", types, ["url.Url"]);
  t.equal(parsed, 0);
  t.equal(lazy?.method, eager?.method);
  t.equal(parsed, 1);
  t.same(lazy, eager);
});

t.test("files with equal content are shared, even if other files of the sets differ", async (t) => {
  const [url, wallet] = [new DescriptorSet(URL), new DescriptorSet(Buffer.from(descriptorsOf("wallet")))];
  const timestamp = "google.protobuf.Timestamp";
  t.ok(fileOf(url.types, timestamp));
  t.equal(fileOf(url.types, timestamp), fileOf(wallet.types, timestamp));
});

t.test("a file with equal content that imports a different file of the same name is not shared", async (t) => {
  const files = [...filesOf(URL)];
  const renamed = files.map((file) => {
    const text = Buffer.from(file).toString("latin1");
    return text.includes("google/protobuf/timestamp.proto") && !text.includes("url.proto")
      ? Buffer.from(text.replaceAll("seconds", "sekonds"), "latin1")
      : file;
  });
  const [one, other] = [new DescriptorSet(URL).types, new DescriptorSet(setOf(renamed)).types];
  const seconds = (types: Registry) => types.getMessage("google.protobuf.Timestamp")?.fields[0]?.name;
  t.same([seconds(one), seconds(other)], ["seconds", "sekonds"]);
  t.not(one.getService("url.Url")?.file, other.getService("url.Url")?.file);
  const imported = other.getService("url.Url")?.file.dependencies.flatMap(({ messages }) => messages);
  t.ok(imported?.every((message) => message === other.getMessage(message.typeName)));
});

t.test("the bytes of the set are unchanged", async (t) => {
  t.ok(new DescriptorSet(URL).bytes.equals(URL));
});

t.test("comments are found, although types are parsed without them", async (t) => {
  const { types } = new DescriptorSet(descriptorsOf("helloworld"));
  const service = types.getService("helloworld.Helloworld");
  t.equal(service?.file.proto.sourceCodeInfo, undefined);
  t.match(commentOf(service!, service!.file), /^Greets people/);
});

t.test("bytes that are no set of files are refused when they are read", async (t) => {
  const [timestamp, ...others] = [...filesOf(URL)];
  t.throws(() => new DescriptorSet(setOf(others)), /Cannot find google\/protobuf\/timestamp.proto, imported by url/);
  t.throws(() => new DescriptorSet(setOf([Buffer.from(timestamp ?? []).subarray(0, 20)])));
  t.throws(() => new DescriptorSet(Buffer.from("no descriptors")));
});
