// JSON is rejected if its message would be larger than allowed, even if the JSON itself is small.
import t from "tap";
import { compileCodecs } from "../../src/json/compile.js";
import { typeOf, types } from "./types.js";

const MAX_BYTES = 4 * 1024 ** 2;

/** JSON with `count` elements. With `maxCount` elements the message has the maximum size. */
const cases: [title: string, type: string, json: (count: number) => string, maxCount: number][] = [
  ["numbers of one digit", "Lists", (count) => `{"double":[${Array(count).fill(1)}]}`, (MAX_BYTES - 5) >> 3],
  ["a long string", "Lists", (count) => `{"string":["${"x".repeat(count)}"]}`, MAX_BYTES - 5],
  [
    "numbers in a Value",
    "google.protobuf.ListValue",
    (count) => `[${Array(count).fill(1)}]`,
    Math.floor(MAX_BYTES / 11),
  ],
];

for (const [title, name, json, maxCount] of cases) {
  t.test(title, async (t) => {
    const codec = compileCodecs(types)(typeOf(name));
    const size = codec.read(Buffer.from(json(maxCount))).length;
    t.ok(size <= MAX_BYTES && size > MAX_BYTES - 16, `${size} bytes`);
    const tooMany = Buffer.from(json(maxCount + 2));
    t.throws(() => codec.read(tooMany), { name: "JsonError", message: "the message is larger than 4194304 bytes" });
    t.ok(
      compileCodecs(types, { maxMessage: MAX_BYTES * 2 })(typeOf(name)).read(tooMany).length > MAX_BYTES,
      "more is allowed",
    );
  });
}

t.test("a small message may have a small limit", async (t) => {
  const codec = compileCodecs(types, { maxMessage: 10 })(typeOf("google.protobuf.StringValue"));
  t.equal(codec.read(Buffer.from('"12345678"')).length, 10);
  t.throws(() => codec.read(Buffer.from('"123456789"')), { message: "the message is larger than 10 bytes" });
  t.equal(codec.read(Buffer.from('"12345678"')).length, 10, "and the next is read again");
});
