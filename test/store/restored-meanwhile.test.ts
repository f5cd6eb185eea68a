/** A process may start while `portico restore` replaces the store: it uses the restored one. */
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";
import { copySqlite, replaceFile, whileUnused } from "../../src/store/sqlite-backup.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { until } from "../support/until.js";

/** How often this process has opened the file (proc(5)). */
function timesOpen(file: string): number {
  return readdirSync("/proc/self/fd").filter((descriptor) => {
    try {
      return readlinkSync(join("/proc/self/fd", descriptor)) === file;
    } catch {
      return false; // It was closed meanwhile.
    }
  }).length;
}

t.test("a store that is opened while it is being replaced is the new one", async (t) => {
  const folder = t.testdir();
  const first = await openStore("sqlite:", folder);
  const file = first.name;
  const draft = join(folder, "draft");
  await collectionOf(first, "log").create("1", "in the backup");
  await copySqlite("authority", file, draft);
  await collectionOf(first, "log").create("2", "after the backup");
  await first.close();

  let opening: Promise<KeyValueStore> | undefined;
  await whileUnused("authority", file, async () => {
    const before = timesOpen(file);
    opening = openStore("sqlite:", folder);
    await until(() => timesOpen(file) > before);
    replaceFile(file, draft, new Date());
  });
  const store = await opening!;
  t.teardown(() => store.close());
  t.same(await collectionOf(store, "log").keys(), ["1"]);
  t.ok(store.isInPlace());
  t.ok(await collectionOf(store, "log").create("2", "a new change"));
});
