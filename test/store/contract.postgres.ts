/** Postgres keeps the contract of the store. */
import t from "tap";
import { openStore } from "../../src/store/open.js";
import type { Store } from "../../src/store/store.js";
import { storeContract } from "../contract/store.js";
import { noPostgres, startPostgres } from "../support/postgres.js";

t.test("postgres", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const urls = new Map<Store, string>();
  const open = async (url: string): Promise<Store> => {
    const store = await openStore(url, t.testdir());
    urls.set(store, url);
    return store;
  };
  storeContract(t, {
    open: async () => open(server.url(await server.createDatabase())),
    openAgain: (store) => open(urls.get(store) ?? ""),
  });
});
