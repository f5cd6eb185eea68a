import t from "tap";
import type { Stream } from "../../src/http2/stream.js";
import { StreamTable } from "../../src/http2/stream-table.js";
import { fc } from "../support/properties.js";

const stream = (id: number): Stream => ({ id }) as Stream;

t.test("the table contains the same streams as a Map, in whatever order they open and end", async (t) => {
  // Streams are opened one after another and end in any order. A number selects the stream that
  // ends, by its position among the open ones.
  const steps = fc.array(fc.oneof(fc.constant("open" as const), fc.nat(100)), { maxLength: 300, size: "max" });
  fc.assert(
    fc.property(steps, fc.nat(2 ** 30 - 1000), (steps, first) => {
      const [table, map] = [new StreamTable(), new Map<number, Stream>()];
      let next = 2 * first + 1;
      for (const step of steps) {
        if (step === "open") {
          const opened = stream(next);
          next += 2;
          table.add(opened);
          map.set(opened.id, opened);
        } else {
          const id = [...map.keys()].at(step % (map.size + 1)) ?? next;
          if (table.delete(id) !== map.delete(id) || table.delete(id)) return false;
        }
        if (table.size !== map.size || table.has(next)) return false;
        for (const [id, open] of map) if (table.get(id) !== open) return false;
        if (new Set(table).size !== map.size) return false;
      }
      return true;
    }),
  );
  t.pass("in 100 random sequences");
});

t.test("iteration includes streams that end during the iteration", async (t) => {
  const table = new StreamTable();
  for (const id of [1, 3, 5]) table.add(stream(id));
  const told: number[] = [];
  for (const { id } of table) {
    table.clear();
    told.push(id);
  }
  t.same([told.sort(), table.size], [[1, 3, 5], 0]);
});
