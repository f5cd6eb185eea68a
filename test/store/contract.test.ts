/** Each engine keeps the contract of the store. */
import t from "tap";
import { openStore } from "../../src/store/open.js";
import { storeContract } from "../contract/store.js";
import { openMemoryStore } from "../support/memory-store.js";

t.test("memory", async (t) =>
  storeContract(t, { open: async () => openMemoryStore(), openAgain: async (store) => store }),
);
t.test("sqlite", async (t) =>
  storeContract(t, {
    open: (t) => openStore("sqlite:", t.testdir()),
    openAgain: ({ name }) => openStore(`sqlite:${name}`, ""),
  }),
);
