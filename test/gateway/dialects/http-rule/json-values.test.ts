// How a body is split into JSON values, in whatever chunks it arrives.
import t from "tap";
import { JsonValues } from "../../../../gateway/dialects/http-rule/grpc-gateway/json-values.js";

const MAX = 64;

/** The values of a body that arrives in chunks of this size. */
function split(body: string, size: number): string[] {
  const values = new JsonValues(MAX);
  const found: string[] = [];
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += size) {
    values.push(bytes.subarray(at, at + size));
    for (let value = values.next(); value !== undefined; value = values.next())
      found.push(Buffer.from(value).toString());
  }
  const last = values.end();
  return last === undefined ? found : [...found, Buffer.from(last).toString()];
}

const CASES: readonly (readonly [title: string, body: string, values: readonly string[]])[] = [
  ["nothing", "", []],
  ["only white space", " \r\n\t\n", []],
  ["a line for each value", '{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']],
  ["values without anything between them", '{"a":1}{"b":2}["c"]"d"', ['{"a":1}', '{"b":2}', '["c"]', '"d"']],
  ["a value of several lines", '{\n "a": [1,\n 2]\n}\n{}', ['{\n "a": [1,\n 2]\n}', "{}"]],
  ["brackets and quotes in strings", '{"a":"}\\"]{"}"\\\\""x"', ['{"a":"}\\"]{"}', '"\\\\"', '"x"']],
  ["numbers and words", "1 -2.5e3\ntrue null", ["1", "-2.5e3", "true", "null"]],
  ["a number before an object", '1{"a":2}', ["1", '{"a":2}']],
  ["a closing bracket too many is for the codec to reject", "]}", ["]", "}"]],
  ["letters outside ASCII", '{"a":"€😀"}\n"ä"', ['{"a":"€😀"}', '"ä"']],
];

for (const [title, body, values] of CASES) {
  t.test(title, async (t) => {
    for (const size of [1, 2, 3, 1000]) t.same(split(body, size), values, `in chunks of ${size}`);
  });
}

t.test("a body that ends within a value is refused", async (t) => {
  for (const body of ['{"a":1', '"abc', "[[]"]) t.throws(() => split(body, 2), /ends before the end/, body);
});

t.test("a value may have the maximum size, and no more", async (t) => {
  const longest = `"${"x".repeat(MAX - 2)}"`;
  for (const size of [1, 1000]) {
    t.same(split(`${longest} ${longest}`, size), [longest, longest]);
    t.throws(() => split(`"x${longest.slice(1)}`, size), /must not be larger than 64 bytes/);
    t.throws(() => split(`${"[".repeat(MAX)}[`, size), /must not be larger than 64 bytes/, "an unfinished one");
  }
});

t.test("white space between values counts for no value", async (t) => {
  t.same(split(`1${" ".repeat(10 * MAX)}2`, 7), ["1", "2"]);
});
