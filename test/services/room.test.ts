// A maximum of entries that expire: the entries are counted again when half of the room that was found is used up.
import t from "tap";
import { Room } from "../../services/room.js";
import { Code, type Store, testCall } from "../../src/kit/index.js";

/** A collection that counts how often it is counted. */
function counted(collection: Store<number>): { store: Store<number>; counts: () => number } {
  let counts = 0;
  const count: Store<number>["count"] = (prefix) => {
    counts++;
    return collection.count(prefix);
  };
  return {
    store: new Proxy(collection, { get: (all, name) => (name === "count" ? count : Reflect.get(all, name).bind(all)) }),
    counts: () => counts,
  };
}

t.test("one process never has more entries than the maximum, and counts them a few times", async (t) => {
  const { store, counts } = counted(testCall().store<number>("room"));
  const room = new Room(16);
  for (let entry = 0; entry < 16; entry++) {
    await room.check("default", store, "", "entries");
    await store.set(`${entry}`, entry);
  }
  t.equal(counts(), 5, "with 16, 8, 4, 2 and 1 of room left");
  const more = () => room.check("default", store, "", "entries");
  await t.rejects(more(), { code: Code.RESOURCE_EXHAUSTED, message: /There are 16 entries: delete some/ });
  await store.delete("3");
  await more();
  await store.set("another", 1);
  await t.rejects(more(), { code: Code.RESOURCE_EXHAUSTED });
});

t.test("each prefix and each namespace has a room of its own", async (t) => {
  const room = new Room(1);
  const store = testCall().store<number>("rooms");
  await room.check("default", store, "a/", "entries");
  await store.set("a/1", 1);
  await room.check("default", store, "b/", "entries");
  await room.check("team", testCall({ namespace: "team" }).store<number>("rooms"), "a/", "entries");
  await t.rejects(room.check("default", store, "a/", "entries"), { code: Code.RESOURCE_EXHAUSTED });
});

t.test("each further process may exceed the maximum by less than half of it", async (t) => {
  const store = testCall().store<number>("shared-room");
  let written = 0;
  const write = async (room: Room): Promise<void> => {
    await room.check("default", store, "", "entries");
    await store.set(`${written++}`, 1);
  };
  // All of them count while there is most room; then one after the other writes as much as it may.
  const rooms = [new Room(16), new Room(16), new Room(16)];
  for (const room of rooms) await write(room);
  for (const room of rooms) {
    const fill = async (): Promise<void> => {
      for (;;) await write(room);
    };
    await t.rejects(fill(), { code: Code.RESOURCE_EXHAUSTED });
  }
  t.ok(written > 16, `${written} entries`);
  t.ok(written <= 16 + 2 * 7, `${written} entries`);
});
