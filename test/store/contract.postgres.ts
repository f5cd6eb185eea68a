/** The store on Postgres fulfills the contract of the store, and its collections fulfill theirs. */
import t from "tap";
import { openServiceStore, openStore } from "../../src/store/open.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { collectionContract } from "../contract/collection.js";
import { scheduleContract } from "../contract/schedule.js";
import { storeContract } from "../contract/store.js";
import { watchContract } from "../contract/watch.js";
import { noPostgres, startPostgres } from "../support/postgres.js";

const OPENS = { "of the authority": openStore, "of services": openServiceStore };

for (const [whose, openUrl] of Object.entries(OPENS)) {
  t.test(`postgres, ${whose}`, { skip: noPostgres }, async (t) => {
    const server = await startPostgres(t);
    const urls = new Map<KeyValueStore, string>();
    const open = async (url: string): Promise<KeyValueStore> => {
      const store = await openUrl(url, t.testdir());
      urls.set(store, url);
      return store;
    };
    let schemas = 0;
    const engine = {
      open: () => open(server.url("portico", { query: `?schema=store_${schemas++}` })),
      openAgain: (store: KeyValueStore) => open(urls.get(store) ?? ""),
    };
    storeContract(t, engine);
    collectionContract(t, engine);
    if (openUrl === openStore) return;
    watchContract(t, engine);
    scheduleContract(t, engine);
  });
}
