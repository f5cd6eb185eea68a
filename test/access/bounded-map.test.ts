// A bounded map keeps used entries, and never more than its maximum.

import t from "tap";
import { BoundedMap } from "../../src/memory/bounded-map.js";
import { fc } from "../support/properties.js";

t.test("a bounded map is never larger than its maximum, and returns the values that were set", async (t) => {
  const step = fc.record({ key: fc.integer({ min: 0, max: 30 }), set: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 20 }), fc.array(step, { maxLength: 300 }), (bound, steps) => {
      const map = new BoundedMap<number, number>(bound);
      const last = new Map<number, number>();
      for (const [index, { key, set }] of steps.entries()) {
        if (set) {
          map.set(key, index);
          last.set(key, index);
          if (map.get(key) !== index) return false;
        } else {
          const found = map.get(key);
          if (found !== undefined && found !== last.get(key)) return false;
        }
        if (map.size > bound + (bound % 2)) return false;
      }
      return true;
    }),
  );
  t.pass("no counterexample");
});

t.test("used entries stay while others are added and evicted", async (t) => {
  const map = new BoundedMap<string, number>(100);
  map.set("used", 0);
  for (let index = 1; index < 10_000; index++) {
    map.set(`key ${index}`, index);
    if (index % 40 === 0) t.equal(map.get("used"), 0);
  }
  t.equal(map.get("key 1"), undefined);
});

t.test("a bounded map keeps at least half of its maximum", async (t) => {
  const map = new BoundedMap<number, number>(100);
  for (let key = 0; key < 1_000; key++) map.set(key, key);
  for (let key = 950; key < 1_000; key++) t.equal(map.get(key), key);
});

t.test("a replaced value never comes back", async (t) => {
  const map = new BoundedMap<string, string>(4);
  for (const key of ["key", "a", "b"]) map.set(key, "old");
  map.set("key", "new");
  t.equal(map.size, 3, "the older one is gone");
  for (const key of ["c", "d", "key", "e"]) t.not(map.get(key) ?? map.set(key, "new"), "old");
});

t.test("a deletion removes entries of both generations", async (t) => {
  const map = new BoundedMap<number, number>(10);
  for (let key = 0; key < 10; key++) map.set(key, key);
  for (const key of [0, 2, 4, 6, 8, 1, 9]) map.delete(key);
  t.same(
    Array.from({ length: 10 }, (_, key) => map.get(key)),
    [undefined, undefined, undefined, 3, undefined, 5, undefined, 7, undefined, undefined],
  );
  map.clear();
  t.equal(map.size, 0);
});

t.test("a bounded map has no more bytes than its maximum, and evicts the least recently used entries", async (t) => {
  const map = new BoundedMap<number, string>(1_000, { maxBytes: 1_000, bytesOf: (value) => value.length });
  map.set(-1, "used");
  for (let key = 0; key < 200; key++) {
    map.set(key, "x".repeat(90));
    if (map.size * 90 > 1_000) t.fail(`${map.size} entries after ${key}`);
    if (key % 3 === 0) t.equal(map.get(-1), "used");
  }
  t.ok(map.get(199));
  t.equal(map.get(100), undefined);
  map.set(200, "x".repeat(5_000));
  t.ok(map.get(200), "an entry of its own is kept, however large");
});
