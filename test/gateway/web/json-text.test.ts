// JSON text is read without losing a digit.
import t from "tap";
import { errorOf, parseExact } from "../../../gateway/web/explore/json-text.js";

t.test("reading keeps integers that JavaScript cannot represent, as strings", async (t) => {
  // Node passes the source text of numbers from version 21 on, browsers since 2023.
  const isExact = JSON.parse("1", (_key, _value, context?: { source?: string }) => context?.source !== undefined);
  if (isExact) t.same(parseExact('{"id":9007199254740993,"n":1}'), { id: "9007199254740993", n: 1 });
  else t.comment("this Node does not tell what a number was written as");
  t.same(parseExact('{"n":1.5e300,"m":-3}'), { n: 1.5e300, m: -3 });
});

t.test("says that a request must be a JSON object", async (t) => {
  t.equal(errorOf('{"a":1}'), undefined);
  for (const text of ["[]", "1", "null", '"a"']) t.match(errorOf(text), "A request is a JSON object", text);
  for (const text of ["", "{", "{a:1}"]) t.match(errorOf(text), /^Not JSON yet: /, text);
});
