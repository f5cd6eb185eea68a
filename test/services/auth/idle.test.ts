/** What an authority asks of its store while nothing changes, which is most of the time. */
import t from "tap";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import type { Collection, CollectionName, Store } from "../../../src/store/store.js";
import { openMemoryStore } from "../../support/memory-store.js";
import { open } from "./open.js";
import { Watch } from "./watch.js";

/** The store, with a note of each operation, such as `log.after`, and of how much it gave. */
function noting(store: Store): { store: Store; noted: [operation: string, results: number][] } {
  const noted: [string, number][] = [];
  const collection = (name: CollectionName): Collection =>
    new Proxy(store.collection(name), {
      get: (target, method: keyof Collection) => {
        return async (...args: unknown[]) => {
          const result = await (target[method] as (...args: unknown[]) => Promise<unknown>)(...args);
          noted.push([`${name}.${method}`, Array.isArray(result) ? result.length : 1]);
          return result;
        };
      },
    });
  return { store: { ...store, collection }, noted };
}

t.test("a ping costs one look at the claims and one at the log's end", async (t) => {
  const { store, noted } = noting(openMemoryStore());
  t.teardown(() => store.close());
  // The authority's own guard pings every 12 s.
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
    ["log.after", 1],
  ];
  t.same(noted, Array.from({ length: 10 }, () => ping).flat());
});
