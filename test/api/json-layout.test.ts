// JSON is laid out without changing a value, in the pages and on a terminal.
import fc from "fast-check";
import t from "tap";
import { layOut } from "../../src/api/json-layout.js";
import { anyCharacter } from "../support/characters.js";

const joined = (text: string, oneLine = false) =>
  layOut(text, oneLine)
    .map((token) => token.text)
    .join("");

t.test("any JSON comes out as JSON.stringify lays it out", async (t) => {
  fc.assert(
    fc.property(
      fc.json({ stringUnit: anyCharacter }),
      (json) => joined(json) === JSON.stringify(JSON.parse(json), null, 2),
    ),
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
