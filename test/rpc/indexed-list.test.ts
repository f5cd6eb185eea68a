import fc from "fast-check";
import t from "tap";
import { Bag, type Placed } from "../../src/rpc/indexed-list.js";

t.test("holds what a set would, whatever is added and taken out", async (t) => {
  const things = Array.from({ length: 8 }, (_, name) => ({ name, place: -1 }));
  const steps = fc.array(fc.nat(things.length - 1), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (steps) => {
      for (const thing of things) thing.place = -1;
      const [bag, set] = [new Bag<Placed>(), new Set<Placed>()];
      for (const step of steps) {
        const thing = things[step]!;
        if (set.has(thing)) {
          if (!bag.delete(thing) || bag.delete(thing)) return false;
          set.delete(thing);
        } else {
          bag.add(thing);
          set.add(thing);
        }
        if (bag.size !== set.size || ![...bag].every((one) => set.has(one))) return false;
      }
      return true;
    }),
  );
  t.pass("in 100 random sequences");
});

t.test("what is taken out while the bag is gone through is still told of", async (t) => {
  const bag = new Bag<Placed>();
  for (let count = 0; count < 3; count++) bag.add({ place: -1 });
  let told = 0;
  for (const thing of bag) {
    bag.delete(thing);
    told++;
  }
  t.same([told, bag.size], [3, 0]);
});
