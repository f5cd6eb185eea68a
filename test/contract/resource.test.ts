// Two patterns overlap exactly if some resource matches both.
import t from "tap";
import { matches, overlap, parsePattern } from "../../src/contract/resource.js";
import { fc } from "../support/properties.js";

const segment = fc.constantFrom("*", "a", "ab", "abc", "b", "a*", "ab*", "abc*", "b*");
const pattern = fc.tuple(segment, segment, segment).map((segments) => parsePattern(segments.join(":")));

/** Every text that can tell two of the segments apart. */
const LITERALS = ["a", "ab", "abc", "abcd", "b", "ba", "c"];

t.test("two patterns overlap exactly if a resource matches both", async (t) => {
  const resources = LITERALS.flatMap((type) =>
    LITERALS.flatMap((name) => LITERALS.map((endpoint) => ({ type, name, endpoint }))),
  );
  fc.assert(
    fc.property(pattern, pattern, (one, other) => {
      const common = resources.some((resource) => matches(one, resource) && matches(other, resource));
      return overlap(one, other) === common && overlap(other, one) === common;
    }),
  );
  t.pass("no counterexample");
});
