/** Each engine fulfills the contract of the store, and its collections fulfill theirs. */
import t, { type Test } from "tap";
import { openServiceStore, openStore } from "../../src/store/open.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { collectionContract } from "../contract/collection.js";
import { scheduleContract } from "../contract/schedule.js";
import { storeContract } from "../contract/store.js";
import { watchContract } from "../contract/watch.js";
import { openMemoryStore } from "../support/memory-store.js";

const ENGINES = {
  memory: { open: async () => openMemoryStore(), openAgain: async (store: KeyValueStore) => store },
  "sqlite, of the authority": {
    open: (t: Test) => openStore("sqlite:", t.testdir()),
    openAgain: ({ name }: KeyValueStore) => openStore(`sqlite:${name}`, ""),
  },
  "sqlite, of services": {
    open: (t: Test) => openServiceStore("sqlite:", t.testdir()),
    openAgain: ({ name }: KeyValueStore) => openServiceStore(`sqlite:${name}`, ""),
  },
};

for (const [name, engine] of Object.entries(ENGINES)) {
  t.test(name, async (t) => {
    storeContract(t, engine);
    collectionContract(t, engine);
    if (name === "sqlite, of the authority") return;
    watchContract(t, engine);
    scheduleContract(t, engine);
  });
}
