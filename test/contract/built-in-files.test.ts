// A service announces only its own .proto files and the files that they import. A process parses
// each file once.
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { readDescriptors } from "../../src/contract/endpoint.js";

const filesOf = (set: Uint8Array) => fromBinary(FileDescriptorSetSchema, set).file.map(({ name }) => name);

t.test("a set has the files of its package and their imports, imports first", async (t) => {
  t.same(filesOf(descriptorsOf("helloworld")), ["helloworld/helloworld.proto"]);
  t.same(filesOf(descriptorsOf("url")), [
    "google/protobuf/timestamp.proto",
    "google/protobuf/descriptor.proto",
    "portico/options/v1/options.proto",
    "url/url.proto",
  ]);
  t.ok(filesOf(descriptorsOf()).length > 30, "that of all packages has all");
});

t.test("the sets of services share the files that they both import, also in a set from another process", async (t) => {
  const timestampOf = (set: Uint8Array) => readDescriptors(set).getMessage("google.protobuf.Timestamp");
  const url = timestampOf(descriptorsOf("url"));
  t.ok(url);
  t.equal(timestampOf(Buffer.from(descriptorsOf("wallet"))), url);
});

t.test("a set with a changed file is parsed separately", async (t) => {
  const changed = Buffer.from(
    descriptorsOf("helloworld").toString("latin1").replaceAll("CallRequest", "TellRequest"),
    "latin1",
  );
  t.ok(readDescriptors(changed).getMessage("helloworld.TellRequest"));
  t.notOk(readDescriptors(descriptorsOf("helloworld")).getMessage("helloworld.TellRequest"));
});
