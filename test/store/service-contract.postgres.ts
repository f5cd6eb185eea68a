/** Postgres keeps the contract of the store of services. */
import t from "tap";
import { openServiceStore } from "../../src/store/open.js";
import type { ServiceStore } from "../../src/store/service-store.js";
import { serviceStoreContract } from "../contract/service-store.js";
import { noPostgres, startPostgres } from "../support/postgres.js";

t.test("postgres", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const urls = new Map<ServiceStore, string>();
  const open = async (url: string): Promise<ServiceStore> => {
    const store = await openServiceStore(url, "");
    urls.set(store, url);
    return store;
  };
  let schemas = 0;
  serviceStoreContract(t, {
    open: () => open(server.url("portico", { query: `?schema=services_${schemas++}` })),
    openAgain: (store) => open(urls.get(store) ?? ""),
  });
});
