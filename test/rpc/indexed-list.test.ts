import t from "tap";
import { type Indexed, IndexedList } from "../../src/rpc/open-calls.js";
import { fc } from "../support/properties.js";

t.test("contains the same items as a Set after any additions and deletions", async (t) => {
  const things = Array.from({ length: 8 }, (_, name) => ({ name, index: -1 }));
  const steps = fc.array(fc.nat(things.length - 1), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (steps) => {
      for (const thing of things) thing.index = -1;
      const [list, set] = [new IndexedList<Indexed>(), new Set<Indexed>()];
      for (const step of steps) {
        const thing = things[step]!;
        if (set.has(thing)) {
          if (!list.delete(thing) || list.delete(thing)) return false;
          set.delete(thing);
        } else {
          list.add(thing);
          set.add(thing);
        }
        if (list.size !== set.size || ![...list].every((one) => set.has(one))) return false;
      }
      return true;
    }),
  );
  t.pass("in 100 random sequences");
});

t.test("iterates over the items that were in the list when the iteration began", async (t) => {
  const list = new IndexedList<Indexed>();
  for (let count = 0; count < 3; count++) list.add({ index: -1 });
  let told = 0;
  for (const thing of list) {
    list.delete(thing);
    told++;
  }
  t.same([told, list.size], [3, 0]);
});
