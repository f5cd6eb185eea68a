// A name selects a value: the name itself before a wildcard, an earlier value before a later one.
import t from "tap";
import { ServerNames } from "../../../gateway/node/server-names.js";

const names = new ServerNames([
  [["one.example", "*.example"], "first"],
  [["*.one.example", "api.one.example", "one.example"], "second"],
  [["x.one.example", "*", "f*.bar.example", "*.*.deep.example"], "third"],
]);

const FOUND: Record<string, string | undefined> = {
  "one.example": "first",
  "ONE.Example": "first",
  "two.example": "first",
  "api.one.example": "second",
  "b.one.example": "second",
  "x.one.example": "third",
  "a.b.one.example": undefined,
  example: undefined,
  ".example": undefined,
  "": undefined,
  "one.example.": undefined,
  "foo.bar.example": undefined,
  "a.b.deep.example": undefined,
  localhost: undefined,
  __proto__: undefined,
  [`${"a".repeat(70_000)}.example`]: "first",
};

for (const [name, value] of Object.entries(FOUND)) {
  t.test(`${name.slice(0, 40)} has ${value ?? "none"}`, async (t) => {
    t.equal(names.find(name), value);
  });
}
