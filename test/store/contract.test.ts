import t from "tap";
import { openMemoryStore, openStore } from "../../src/store/store.js";
import { storeContract } from "../contract/store.js";

t.test("memory", async (t) => storeContract(t, async () => openMemoryStore()));
t.test("sqlite", async (t) => storeContract(t, (t) => openStore("sqlite:", t.testdir())));
