/** The operations of an authority on its store while nothing changes, which is nearly always. */

import t from "tap";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { open } from "./open.js";
import { Watch } from "./watch.js";

/** The store, with a list of its operations, such as `log.range`, and their numbers of results. */
function noting(store: KeyValueStore): { store: KeyValueStore; noted: [operation: string, results: number][] } {
  const noted: [string, number][] = [];
  const note = (operation: string, key: string | undefined, results: number): void =>
    void noted.push([`${key?.slice(0, key.indexOf("/"))}.${operation}`, results]);
  const seen: KeyValueStore = {
    ...store,
    get: async (keys) => {
      note("get", keys[0], keys.length);
      return store.get(keys);
    },
    range: async (range) => {
      const page = await store.range(range);
      note("range", range.from, page.entries.length);
      return page;
    },
    keys: async (from, to) => {
      const keys = await store.keys(from, to);
      note("keys", from, keys.length);
      return keys;
    },
    commit: async (writes, options) => {
      note("commit", writes[0]?.key, writes.length);
      return store.commit(writes, options);
    },
  };
  return { store: seen, noted };
}

t.test("a ping needs one reading of the lease records and one of the log's end", async (t) => {
  const { store, noted } = noting(openMemoryStore());
  t.teardown(() => store.close());
  // The authority's own guard pings every 12 s, so not during this test.
  const opened = await open(t, { store, leaseMs: 60_000 });
  const { secret } = await opened.call(
    EnrolmentsService.create,
    { name: "shop", replace: false },
    await opened.login(),
  );
  const watch = new Watch(t, opened.channel, secret);
  watch.start();
  const { revision } = await watch.ping();
  watch.applied(revision);
  noted.length = 0;
  for (let count = 0; count < 10; count++) watch.applied((await watch.ping()).revision);
  const ping = [
    ["grantors.keys", 1],
    ["log.range", 1],
  ];
  t.same(noted, Array.from({ length: 10 }, () => ping).flat());
});
