// The text of a member is found like its value by JSON.parse, whatever text is around it.

import t from "tap";
import { memberText } from "../../../../gateway/dialects/mcp/message.js";
import { fc } from "../../../support/properties.js";

t.test("in every JSON object", async (t) => {
  const names = fc.constantFrom("a", "b", 'q"', "\\", "é", "");
  fc.assert(
    fc.property(
      fc.array(fc.tuple(names, fc.jsonValue())),
      names,
      fc.constantFrom(0, 1, "\t"),
      (members, name, space) => {
        const gap = space === 0 ? "" : " \n";
        const texts = members.map(
          ([key, value]) => `${JSON.stringify(key)}${gap}:${gap}${JSON.stringify(value, null, space)}`,
        );
        const object = `${gap}{${gap}${texts.join(`${gap},${gap}`)}${gap}}${gap}`;
        const expected = JSON.parse(object)[name];
        const found = memberText(object, name);
        return found === undefined
          ? expected === undefined
          : JSON.stringify(JSON.parse(found)) === JSON.stringify(expected);
      },
    ),
    { seed: 1, numRuns: 1000 },
  );
  t.pass("1000 objects");
});

const CASES: [object: string, expected: string | undefined][] = [
  ['{"a":1,"a":2}', "2"],
  ['{"\\u0061":1}', "1"],
  ['{"b":{"a":1}}', undefined],
  ['{"b":"\\"a\\":1","a":9007199254740993}', "9007199254740993"],
  ["{}", undefined],
];
for (const [object, expected] of CASES) {
  t.test(`of ${object}`, async (t) => t.equal(memberText(object, "a"), expected));
}
