// JSON that would become a larger message than may be sent is refused, however little JSON it is.
import t from "tap";
import { compileCodecs } from "../../src/json/compile.js";
import { typeOf, types } from "./types.js";

const MOST = 4 * 1024 ** 2;

/** JSON, the message as large as may be: of `count` elements and `rest` bytes besides. */
const cases: [title: string, type: string, json: (count: number) => string, most: number][] = [
  ["numbers of one digit", "Lists", (count) => `{"double":[${Array(count).fill(1)}]}`, (MOST - 5) >> 3],
  ["strings as long", "Lists", (count) => `{"string":["${"x".repeat(count)}"]}`, MOST - 5],
  ["numbers in a Value", "google.protobuf.ListValue", (count) => `[${Array(count).fill(1)}]`, Math.floor(MOST / 11)],
];

for (const [title, name, json, most] of cases) {
  t.test(title, async (t) => {
    const codec = compileCodecs(types)(typeOf(name));
    const size = codec.read(Buffer.from(json(most))).length;
    t.ok(size <= MOST && size > MOST - 16, `${size} bytes`);
    const tooMany = Buffer.from(json(most + 2));
    t.throws(() => codec.read(tooMany), { name: "JsonError", message: "the message is larger than 4194304 bytes" });
    t.ok(compileCodecs(types, { maxMessage: MOST * 2 })(typeOf(name)).read(tooMany).length > MOST, "more is allowed");
  });
}

t.test("a small message may have a small limit", async (t) => {
  const codec = compileCodecs(types, { maxMessage: 10 })(typeOf("google.protobuf.StringValue"));
  t.equal(codec.read(Buffer.from('"12345678"')).length, 10);
  t.throws(() => codec.read(Buffer.from('"123456789"')), { message: "the message is larger than 10 bytes" });
  t.equal(codec.read(Buffer.from('"12345678"')).length, 10, "and the next is read again");
});
