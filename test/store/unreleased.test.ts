/**
 * A store from before the first release is refused with an error. It is never read as empty, and
 * its files are not changed.
 */

import { createHash } from "node:crypto";
import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import t from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { openServiceStore, openStore, refuseServicesLeft } from "../../src/store/open.js";
import { temporaryFolder } from "../support/temporary.js";

/** Writes an entry to a new store of each kind in the folder, and leaves the store open. */
const KINDS = {
  "portico.sqlite": async (folder: string) => {
    const store = await openStore("sqlite:", folder);
    await collectionOf(store, "log").create("1", "x");
    return store;
  },
  "services.sqlite": async (folder: string) => {
    const store = await openServiceStore("sqlite:", folder);
    await store.commit([{ kind: "set", key: "cache/default/entries/1", value: '"kept"', expires: undefined }]);
    return store;
  },
};
const OPENS: Record<keyof typeof KINDS, Record<string, (folder: string) => Promise<unknown>>> = {
  "portico.sqlite": { "is opened": (folder) => openStore("sqlite:", folder) },
  "services.sqlite": {
    "is opened": (folder) => openServiceStore("sqlite:", folder),
    "is found by a first start": refuseServicesLeft,
  },
};
/** The newest format from before the first release. */
const UNRELEASED = { "portico.sqlite": 1, "services.sqlite": 0 };
const SETTINGS = { "portico.sqlite": "PORTICO_STORE", "services.sqlite": "PORTICO_SERVICE_STORE" };

/** The SHA-256 of each file in the folder, by its name. */
function hashes(folder: string): Record<string, string> {
  const hashOf = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  return Object.fromEntries(readdirSync(folder).map((name) => [name, hashOf(name)]));
}

/**
 * Creates a store of a format from before the first release. After a crash, it has a write-ahead
 * log.
 */
async function makeOld(folder: string, name: keyof typeof KINDS, afterCrash: boolean): Promise<void> {
  const whole = temporaryFolder(t);
  const store = await KINDS[name](whole);
  const other = new KeyvSqlite(`sqlite://${join(whole, name)}`);
  await other.query(`PRAGMA user_version = ${UNRELEASED[name]}`);
  await other.query("PRAGMA wal_checkpoint(TRUNCATE)");
  if (afterCrash) await other.query("CREATE TABLE since (id INTEGER)");
  await other.close();
  if (!afterCrash) await store.close();
  for (const file of readdirSync(whole)) copyFileSync(join(whole, file), join(folder, file));
  if (afterCrash) await store.close();
}

for (const name of Object.keys(KINDS) as (keyof typeof KINDS)[]) {
  for (const [how, open] of Object.entries(OPENS[name])) {
    for (const afterCrash of [false, true]) {
      t.test(`an old ${name} ${afterCrash ? "that was not closed " : ""}is refused when it ${how}`, async (t) => {
        const folder = temporaryFolder(t);
        await makeOld(folder, name, afterCrash);
        t.equal(existsSync(join(folder, `${name}-wal`)), afterCrash);
        const before = hashes(folder);
        await t.rejects(open(folder), {
          name: "StoreError",
          message:
            `store ${join(folder, name)} was written before Portico's first release: its format is ${UNRELEASED[name]}, and this version ` +
            `reads formats from ${UNRELEASED[name] + 1} on; run the build that wrote it, or start anew with an empty folder in PORTICO_DATA, and another ` +
            `store in ${SETTINGS[name]} if it is set`,
        });
        t.same(hashes(folder), before);
      });
    }
  }
}
