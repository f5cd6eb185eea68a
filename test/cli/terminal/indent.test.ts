// Indented JSON is the same JSON, laid out as JSON.stringify does.
import fc from "fast-check";
import t from "tap";
import { indent } from "../../../cli/terminal/indent.js";
import { anyCharacter } from "../../support/characters.js";

t.test("as JSON.stringify lays it out, for any value", async (t) => {
  fc.assert(
    fc.property(
      fc.json({ stringUnit: anyCharacter }),
      (json) => indent(json) === JSON.stringify(JSON.parse(json), null, 2),
    ),
  );
  t.pass("no counterexample");
});
