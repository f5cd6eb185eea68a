// However a stream is cut into pieces, its lines are the same; heartbeats are no messages.
import fc from "fast-check";
import t from "tap";
import { Lines } from "../../../gateway/web/explore/lines.js";

const STREAM = '{"a":1}\n\n{"b":"é\\n"}\n\n\n{"c":3}\n';

t.test("cut anywhere", async (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(STREAM.length)), (cuts) => {
      const lines = new Lines();
      const ends = [...cuts, STREAM.length].sort((one, other) => one - other);
      const taken = ends.flatMap((end, index) => lines.take(STREAM.slice(ends[index - 1] ?? 0, end)));
      return [...taken, ...lines.end()].join() === '{"a":1},{"b":"é\\n"},{"c":3}';
    }),
  );
  t.pass("no counterexample");
});

t.test("a line is given as soon as it is whole, and the last one without its end", async (t) => {
  const lines = new Lines();
  t.same(lines.take('{"a"'), []);
  t.same(lines.take(":1}\n{"), ['{"a":1}']);
  t.same(lines.end(), ["{"]);
  t.same(lines.end(), []);
});
