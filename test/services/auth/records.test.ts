/** Tables of records find them by name and remove expired ones, exactly like a plain map. */

import t from "tap";
import { Arena } from "../../../services/auth/log/records/arena.js";
import { HashIndex } from "../../../services/auth/log/records/hash-index.js";
import { RecordTable, type RecordType } from "../../../services/auth/log/records/record-table.js";
import { fc } from "../../support/properties.js";

interface Item {
  readonly name: string;
  readonly other: string;
  readonly due: number;
  readonly filling: number;
}

const ITEMS: RecordType<Item> = {
  encode: (item) => Buffer.from(`${JSON.stringify(item)}${" ".repeat(item.filling)}`),
  decode: (bytes) => JSON.parse(Buffer.from(bytes).toString()),
  namesOf: ({ name, other }) => [Buffer.from(name), ...(other === name ? [] : [Buffer.from(other)])],
  dueOf: ({ due }) => due,
  isMarked: ({ filling }) => filling > 350,
};

const name = fc.integer({ min: 0, max: 30 }).map((number) => `name-${number}`);
const item = fc.record({ name, other: name, due: fc.integer({ min: 0, max: 20 }), filling: fc.nat(700) });
const action = fc.oneof(
  { weight: 4, arbitrary: item.map((value) => ({ what: "add" as const, value })) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("replace" as const), at: fc.nat(), value: item }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("remove" as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("forget" as const), now: fc.integer({ min: 0, max: 20 }) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("tidy" as const), max: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.constant({ what: "freeze" as const }) },
  { weight: 1, arbitrary: fc.constant({ what: "release" as const }) },
);

t.test("a table has the same records as a plain map", async (t) => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 300, size: "max" }), (actions) => {
      const table = new RecordTable(ITEMS);
      const model = new Map<number, Item>();
      let frozen: { copy: ReturnType<typeof table.freeze>; model: Map<number, Item> } | undefined;
      for (const act of actions) {
        const numbers = [...model.keys()];
        const chosen = "at" in act ? numbers[act.at % Math.max(numbers.length, 1)] : undefined;
        if (act.what === "add") model.set(table.add(act.value), act.value);
        if (act.what === "tidy") table.tidy(act.max);
        if (act.what === "replace" && chosen !== undefined) {
          table.replace(chosen, act.value);
          model.set(chosen, act.value);
        }
        if (act.what === "remove" && chosen !== undefined) {
          table.remove(chosen);
          model.delete(chosen);
        }
        if (act.what === "forget") forget(table, model, act.now);
        if (act.what === "freeze") frozen ??= { copy: table.freeze(), model: new Map(model) };
        if (act.what === "release") {
          frozen?.copy.release();
          frozen = undefined;
        }
        for (const [number, value] of frozen?.model ?? []) {
          if (!frozen?.copy.read(number).equals(ITEMS.encode(value))) return false;
        }
      }
      return isSame(table, model);
    }),
    { numRuns: 300 },
  );
  t.pass("no counterexample");
});

/** Removes expired records from both, in the same order. */
function forget(table: RecordTable<Item>, model: Map<number, Item>, now: number): void {
  for (let record = table.expired(now); record !== undefined; record = table.expired(now)) {
    const earliest = Math.min(...[...model.values()].map(({ due }) => due));
    if (model.get(record)?.due !== earliest) throw new Error(`${record} does not expire first`);
    table.remove(record);
    model.delete(record);
  }
  if ([...model.values()].some(({ due }) => due <= now)) throw new Error("something has expired and is there");
}

function isSame(table: RecordTable<Item>, model: Map<number, Item>): boolean {
  for (let number = 0; number <= 30; number++) {
    const name = `name-${number}`;
    const isIt = (item: Item): boolean => item.name === name || item.other === name;
    const found = table.find(Buffer.from(name), isIt);
    const expected = [...model].filter(([, item]) => isIt(item)).map(([record]) => record);
    if (found === undefined ? expected.length > 0 : !expected.includes(found.record)) return false;
  }
  if (table.marked !== [...model.values()].filter(ITEMS.isMarked).length) return false;
  return [...model].every(([record, item]) => JSON.stringify(table.get(record)) === JSON.stringify(item));
}

t.test("records that grow repeatedly do not leak memory", async (t) => {
  const arena = new Arena();
  let blocks = Array.from({ length: 1_000 }, () => arena.add(Buffer.alloc(50)));
  for (let size = 100; size <= 5_000; size += 50) {
    blocks = blocks.map((block) => {
      arena.remove(block);
      return arena.add(Buffer.alloc(size));
    });
  }
  t.equal(arena.read(blocks[0]!).length, 5_000);
  t.ok(arena.bytes < 2 * 1_000 * 5_000, `${arena.bytes} bytes`);
});

t.test("numbers with the same hash are found and removed independently", async (t) => {
  const index = new HashIndex();
  const hash = 0xfffffeff;
  for (let number = 0; number < 100; number++) index.add(hash, number);
  for (let number = 0; number < 100; number += 2) index.remove(hash, number);
  index.remove(hash, 1_000);
  for (let number = 0; number < 100; number++) {
    t.equal(
      index.find(hash, (one) => one === number),
      number % 2 === 0 ? undefined : number,
    );
  }
});
