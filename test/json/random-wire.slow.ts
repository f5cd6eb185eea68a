/**
 * Random wire bytes. Two concatenated messages are one merged message, like in the reference.
 * Randomly damaged bytes do no harm.
 */
import { fromJsonString, toBinary } from "@bufbuild/protobuf";
import t from "tap";
import { compileCodecs } from "../../src/json/compile.js";
import { fc } from "../support/properties.js";
import { randomJson, randomTypes } from "./random-types.js";
import { meaningOf } from "./reference.js";

const twoMessages = randomTypes.chain(({ types, root }) =>
  fc.record({ types: fc.constant(types), root: fc.constant(root), first: randomJson(root), second: randomJson(root) }),
);

t.test("fields in any order, in several parts, and more than once", async (t) => {
  let written = 0;
  fc.assert(
    fc.property(twoMessages, ({ types, root, first, second }) => {
      const codec = compileCodecs(types)(root);
      let wire: Buffer;
      try {
        wire = Buffer.concat([codec.read(Buffer.from(first)), codec.read(Buffer.from(second))]);
      } catch {
        return true; // Random JSON may be invalid. Other tests check this.
      }
      written++;
      // A merged message may have no JSON, such as a duration with two signs.
      const expected = attempt(() => meaningOf(root, wire));
      const ours = attempt(() => meaningOf(root, toBinary(root, fromJsonString(root, codec.write(wire)))));
      return ours === expected;
    }),
    { numRuns: 200 },
  );
  t.ok(written > 100, `${written} written`);
});

const spoiling = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  remove: fc.nat({ max: 2 }),
  insert: fc.uint8Array({ maxLength: 3 }),
});

t.test("bytes that are not a message", async (t) => {
  let written = 0;
  let refused = 0;
  fc.assert(
    fc.property(
      twoMessages,
      fc.array(spoiling, { minLength: 1, maxLength: 3 }),
      ({ types, root, first }, spoilings) => {
        const codec = compileCodecs(types)(root);
        let json: string;
        try {
          let wire = Buffer.from(codec.read(Buffer.from(first)));
          for (const { place, remove, insert } of spoilings) {
            const at = Math.floor(place * wire.length);
            wire = Buffer.concat([wire.subarray(0, at), insert, wire.subarray(at + remove)]);
          }
          json = codec.write(wire);
        } catch (error) {
          refused++;
          return (error as Error).constructor === Error || (error as Error).name === "JsonError";
        }
        written++;
        // The written text must be JSON with the same meaning.
        return codec.write(codec.read(Buffer.from(json))) === json;
      },
    ),
    { numRuns: 300 },
  );
  t.ok(written > 20 && refused > 20, `${written} written, ${refused} refused`);
});

function attempt(run: () => string): string | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
