/** LineSplitter: the lines of a stream do not depend on how its bytes are split into chunks. */

import t from "tap";
import { LineSplitter } from "../../src/api/lines.js";
import { fc } from "../support/properties.js";

const STREAM = Buffer.from('{"a":1}\n\n{"b":"é\\n"}\n\n\n{"c":3}\nno end');

t.test("gives the same lines for any chunks, even if a character is split", async (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(STREAM.length)), (cuts) => {
      const lines = new LineSplitter();
      const ends = [...cuts, STREAM.length].sort((one, other) => one - other);
      const taken = ends.flatMap((end, index) => lines.push(STREAM.subarray(ends[index - 1] ?? 0, end)));
      const texts = [...taken, lines.end() ?? []].map((bytes) => Buffer.from(bytes).toString());
      return texts.join("\n") === STREAM.toString();
    }),
  );
  t.pass("no counterexample");
});

t.test("gives a line as soon as it is complete, and the last line at the end of the stream", async (t) => {
  const lines = new LineSplitter();
  const push = (text: string) => lines.push(Buffer.from(text)).map((bytes) => Buffer.from(bytes).toString());
  t.same(push('{"a"'), []);
  t.equal(lines.unfinishedLength, 4);
  t.same(push(":1}\n{"), ['{"a":1}']);
  t.equal(Buffer.from(lines.end() ?? []).toString(), "{");
  t.equal(lines.end(), undefined);
  t.equal(lines.unfinishedLength, 0);
});
