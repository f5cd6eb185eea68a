/**
 * A services' store that cannot be used reports why. A slow or failing store still responds, and
 * loses nothing.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import t from "tap";
import { Code } from "../../src/errors.js";
import { openServiceStore, openStore } from "../../src/store/open.js";
import type { StoredWrite } from "../../src/store/store.js";

/** A commit waits for a lock for at most half of it. */
const DEADLINE_MS = 3000;

const set = (key: string, value = "1"): StoredWrite => ({ kind: "set", key, value, expires: undefined });

t.test("a file of another kind is refused and not changed", async (t) => {
  const folder = t.testdir();
  await openStore("sqlite:", folder).then((store) => store.close());
  const authoritys = join(folder, "portico.sqlite");
  const text = join(folder, "text");
  writeFileSync(text, "x".repeat(9000));
  for (const file of [authoritys, text]) {
    const before = readFileSync(file);
    await t.rejects(openServiceStore(`sqlite:${file}`, folder), {
      name: "StoreError",
      message: `store ${file} is not a store of Portico's services, or is damaged; restore it from a backup, or name another file in PORTICO_SERVICE_STORE`,
    });
    t.same(readFileSync(file), before);
  }
  await t.rejects(openServiceStore("mysql://host", folder), {
    message: "the store must be sqlite:, sqlite:/path/to/file or postgres://role:password@host/database",
  });
});

t.test("a missing file in a folder that was set up is created again, with a warning", async (t) => {
  const folder = t.testdir({ fresh: {}, used: { "store-location": "portico.sqlite" } });
  const warnings: string[] = [];
  const open = async (data: string) => {
    const store = await openServiceStore("sqlite:", join(folder, data), { warn: (message) => warnings.push(message) });
    await store.close();
    return store.name;
  };
  await open("fresh");
  t.same(warnings, []);
  const file = await open("used");
  await open("used");
  t.same(warnings, [`store ${file} was not there: it is made anew, and empty. If services kept anything, restore it`]);
});

t.test("the authority does not use a file of services", async (t) => {
  const folder = t.testdir();
  const store = await openServiceStore("sqlite:", folder);
  await store.close();
  await t.rejects(openStore(`sqlite:${store.name}`, folder), { message: /is not a store of Portico, or is damaged/ });
});

t.test("a failed operation rejects with StoreError, and later ones succeed", async (t) => {
  const folder = t.testdir();
  const store = await openServiceStore("sqlite:", folder);
  t.teardown(() => store.close());
  await store.commit([set("a")]);
  const other = new KeyvSqlite(`sqlite://${store.name}`);
  await other.query("ALTER TABLE entries RENAME TO hidden");
  const broken = { name: "StoreError", message: /^store .+services\.sqlite cannot be used: .*no such table/ };
  await t.rejects(store.get(["a"]), broken);
  await t.rejects(store.range({ from: "", to: "z", limit: 1 }), broken);
  await t.rejects(store.commit([set("b")]), broken);
  await other.query("ALTER TABLE hidden RENAME TO entries");
  t.match(await store.commit([set("c")]), { committed: true });
  t.same(
    (await store.get(["a", "b", "c"])).map((entry) => entry?.value),
    ["1", undefined, "1"],
  );
  await other.close();
});

t.test("a commit that waits for a lock ends by the deadline and is not made, while reads go on", async (t) => {
  const store = await openServiceStore("sqlite:", t.testdir(), { timeoutMs: DEADLINE_MS });
  t.teardown(() => store.close());
  await store.commit([set("a")]);
  const other = new KeyvSqlite(`sqlite://${store.name}`);
  await other.query("BEGIN IMMEDIATE");
  const waiting = store.commit([set("b")]);
  t.equal((await store.get(["a"]))[0]?.value, "1");
  await t.rejects(waiting, { name: "StoreError", message: /is locked by another process|did not respond/ });
  await other.query("ROLLBACK");
  await other.close();
  await store.commit([set("d")]);
  t.same(
    (await store.range({ from: "", to: "z", limit: 9 })).entries.map(({ key }) => key),
    ["a", "d"],
  );
});

t.test("the number of waiting commits is limited", async (t) => {
  const store = await openServiceStore("sqlite:", t.testdir());
  t.teardown(() => store.close());
  const commits = Array.from({ length: 5000 }, (_, index) => store.commit([set(`${index}`)]));
  const results = await Promise.allSettled(commits);
  const refused = results.filter((result) => result.status === "rejected");
  t.ok(refused.length > 0 && refused.length < 1000, `${refused.length} of 5000 were refused`);
  for (const { reason } of refused) t.equal(reason.code, Code.RESOURCE_EXHAUSTED);
  t.equal(await store.count("", "z"), 5000 - refused.length, "and all others were made");
});

t.test("the error for a folder that cannot be created names it", async (t) => {
  const folder = t.testdir({ file: "" });
  await t.rejects(openServiceStore("sqlite:", join(folder, "file", "data")), {
    message: /has no folder, and .* cannot be created .*PORTICO_SERVICE_STORE$/,
  });
  mkdirSync(join(folder, "services.sqlite"));
  await t.rejects(openServiceStore("sqlite:", folder), { name: "StoreError" });
});
