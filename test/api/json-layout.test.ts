// JSON is formatted, for the web pages and for a terminal, without a change of its value.

import t from "tap";
import { layOut } from "../../src/api/json-layout.js";
import { anyCharacter } from "../support/characters.js";
import { fc } from "../support/properties.js";

const joined = (text: string, oneLine = false) =>
  layOut(text, oneLine)
    .map((token) => token.text)
    .join("");

t.test("any JSON is formatted as JSON.stringify does", async (t) => {
  fc.assert(
    fc.property(
      fc.json({ stringUnit: anyCharacter }),
      (json) => joined(json) === JSON.stringify(JSON.parse(json), null, 2),
    ),
    { numRuns: 500 },
  );
  t.pass("no counterexample");
});

t.test("on one line it has the same value", async (t) => {
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

t.test("text that is not JSON stays unchanged", async (t) => {
  for (const text of ["", "plain", '{"a":', '{"a":1}x', "<b>"]) {
    t.same(layOut(text), [{ kind: "plain", text }]);
  }
});

t.test("keys, strings, numbers and words have kinds, which select their colours", async (t) => {
  const kinds = layOut('{"a":["b",1,null]}').filter(({ kind }) => kind !== "plain");
  t.same(kinds, [
    { kind: "key", text: '"a"' },
    { kind: "string", text: '"b"' },
    { kind: "number", text: "1" },
    { kind: "word", text: "null" },
  ]);
});
