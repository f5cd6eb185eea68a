// The caller chooses the request ID, and it is written to logs. So only a well-formed one is used.
import t from "tap";
import { requestIdOf } from "../../src/call/metadata.js";

const cases: [title: string, sent: string | undefined, used: string | undefined][] = [
  ["no request ID", undefined, undefined],
  ["letters, digits and . _ -", "Abc-1.2_3", "Abc-1.2_3"],
  ["128 characters", "a".repeat(128), "a".repeat(128)],
  ["129 characters", "a".repeat(129), undefined],
  ["an empty request ID", "", undefined],
  ["a space", "a b", undefined],
  ["a line break", "a\nb", undefined],
  ["an escape sequence", "\u001b[2J", undefined],
  ["the start of a token", "x-ptk_4fGh81", undefined],
];

for (const [title, sent, used] of cases) {
  t.test(title, async (t) => {
    t.equal(requestIdOf(sent === undefined ? [] : [["x-request-id", sent]]), used);
  });
}
