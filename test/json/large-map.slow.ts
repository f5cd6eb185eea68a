// A duplicate key is found, however many keys are between. JSON with a duplicate is rejected. On
// the wire, the last entry counts.
import t from "tap";
import { compileCodecs } from "../../src/json/compile.js";
import { typeOf, types } from "./types.js";

const codec = compileCodecs(types, { omitZeros: true })(typeOf("Maps"));

/** A few keys are searched linearly. More keys have a table, which grows. */
const COUNTS = [2, 8, 9, 16, 17, 48, 49, 1000, 5000];
const FIELDS = ["string", "int32", "uint64", "sint64", "fixed32", "fixed64"];

for (const field of FIELDS) {
  const value = (at: number) => (field === "string" ? `"${at}"` : /64/.test(field) ? `"${at + 1}"` : `${at + 1}`);
  const json = (...keys: number[]) => `{"${field}":{${keys.map((key, at) => `"${key}":${value(at)}`).join()}}}`;
  const read = (text: string) => codec.read(Buffer.from(text));

  for (const count of COUNTS) {
    t.test(`${count} keys of ${field}`, async (t) => {
      const keys = Array.from({ length: count }, (_, at) => (at * 7919) % 100_003);
      const object = json(...keys);
      t.equal(codec.write(read(object)), object, "none twice");
      for (const again of [0, count >> 1, count - 1]) {
        const key = keys[again]!;
        t.throws(
          () => read(json(...keys, key)),
          { message: /given more than once/ },
          `number ${again} twice is refused`,
        );
        const later = Buffer.concat([read(json(...keys)), read(json(key))]);
        const members = JSON.parse(codec.write(later))[field];
        t.equal(Object.keys(members).length, count);
        t.equal(JSON.stringify(members[key]), value(0), `the last of number ${again} counts`);
      }
    });
  }
}

t.test("large objects inside large objects have separate keys", async (t) => {
  const struct = compileCodecs(types)(typeOf("google.protobuf.Struct"));
  const inner = `{${Array.from({ length: 100 }, (_, at) => `"${at}":${at}`).join()}}`;
  const members = Array.from({ length: 100 }, (_, at) => `"${at}":${inner}`);
  const object = `{${members.join()}}`;
  t.equal(struct.write(struct.read(Buffer.from(object))), object);
  for (const again of [0, 99]) {
    const twice = Buffer.from(`{${members.join()},"${again}":1}`);
    t.throws(() => struct.read(twice), { message: `["${again}"]: given more than once` });
  }
});
