// Nested messages are read to a depth of 100. The number of messages beside each other does not
// count.
import t from "tap";
import { ListValue } from "../../src/gen/google/protobuf/struct.js";

/** A list inside this number of lists. Each of them is two messages, a Value and a ListValue. */
function nested(lists: number): Buffer {
  let values: unknown[] = [];
  for (let depth = 0; depth < lists; depth++) values = [values];
  return ListValue.encode({ values }).finish();
}

t.test("the depth of nested messages has a limit", async (t) => {
  t.doesNotThrow(() => ListValue.decode(nested(49)));
  t.throws(() => ListValue.decode(nested(50)), { message: "protobuf decode recursion limit exceeded" });
});

t.test("messages beside each other add no depth", async (t) => {
  const bytes = ListValue.encode({ values: Array(200).fill([]) }).finish();
  t.equal(ListValue.decode(bytes).values.length, 200);
});
