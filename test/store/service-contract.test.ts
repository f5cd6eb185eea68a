/** Each engine keeps the contract of the store of services. */
import t from "tap";
import { openServiceStore } from "../../src/store/open.js";
import { serviceStoreContract } from "../contract/service-store.js";

t.test("sqlite", async (t) =>
  serviceStoreContract(t, {
    open: (t) => openServiceStore("sqlite:", t.testdir()),
    openAgain: ({ name }) => openServiceStore(`sqlite:${name}`, ""),
  }),
);
