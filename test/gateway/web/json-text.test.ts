// JSON as text: laid out without changing a value, read without losing a digit.
import fc from "fast-check";
import t from "tap";
import { faultOf, layOut, parseExact } from "../../../gateway/web/explore/json-text.js";

const joined = (text: string, oneLine = false) =>
  layOut(text, oneLine)
    .map((token) => token.text)
    .join("");

t.test("any JSON comes out as JSON.stringify lays it out", async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => joined(JSON.stringify(value)) === JSON.stringify(value, null, 2)),
    { numRuns: 500 },
  );
  t.pass("no counterexample");
});

t.test("on one line it is the same value", async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const line = joined(JSON.stringify(value), true);
      return !line.includes("\n") && JSON.stringify(JSON.parse(line)) === JSON.stringify(value);
    }),
  );
  t.pass("no counterexample");
});

t.test("numbers and escapes stay as they were written", async (t) => {
  const text = '{"big":9007199254740993,"small":-0,"exact":1.10,"huge":1e400,"text":"\\u00e9\\/{[,:"}';
  t.equal(joined(text).replace(/[\n ]/g, ""), text.replace(/ /g, ""));
});

t.test("what is no JSON is shown as it is", async (t) => {
  for (const text of ["", "plain", '{"a":', '{"a":1}x', "<b>"]) {
    t.same(layOut(text), [{ kind: "plain", text }]);
  }
});

t.test("colours", async (t) => {
  const kinds = layOut('{"a":["b",1,null]}').filter(({ kind }) => kind !== "plain");
  t.same(kinds, [
    { kind: "key", text: '"a"' },
    { kind: "string", text: '"b"' },
    { kind: "number", text: "1" },
    { kind: "word", text: "null" },
  ]);
});

t.test("reading keeps integers that JavaScript cannot hold, as strings", async (t) => {
  // Node tells what a number was written as from version 21 on, browsers since 2023.
  const tells = JSON.parse("1", (_key, _value, context?: { source?: string }) => context?.source !== undefined);
  if (tells) t.same(parseExact('{"id":9007199254740993,"n":1}'), { id: "9007199254740993", n: 1 });
  else t.comment("this Node does not tell what a number was written as");
  t.same(parseExact('{"n":1.5e300,"m":-3}'), { n: 1.5e300, m: -3 });
});

t.test("faults of a request", async (t) => {
  t.equal(faultOf('{"a":1}'), undefined);
  for (const text of ["[]", "1", "null", '"a"']) t.match(faultOf(text), "A request is a JSON object", text);
  for (const text of ["", "{", "{a:1}"]) t.match(faultOf(text), /^Not JSON yet: /, text);
});
