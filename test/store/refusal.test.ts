/**
 * A store that cannot be trusted stops the start. The error is one line that names the file and
 * says what to do.
 */

import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import KeyvSqlite from "@keyv/sqlite";
import t from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { openStore } from "../../src/store/open.js";
import { toStoreError } from "../../src/store/sqlite-file.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { openJournal } from "../services/auth/open.js";

/** A closed store with entries. */
async function filled(folder: string): Promise<string> {
  const store = await openStore("sqlite:", folder);
  for (let key = 0; key < 100; key++) await collectionOf(store, "log").create(`${key}`, "x".repeat(500));
  await store.close();
  return join(folder, "portico.sqlite");
}

const damages: Record<string, [damage: (file: string) => void, message: RegExp]> = {
  "emptied to nothing": [(file) => truncateSync(file, 0), /is empty: .* restore it from a backup/],
  "cut off within the header": [(file) => truncateSync(file, 50), /is not a store of Portico, or is damaged; /],
  "cut off": [
    (file) => truncateSync(file, statSync(file).size - 8192),
    /is damaged \(.*\); restore it from a backup, or name another file in PORTICO_STORE$/,
  ],
  "overwritten in the middle": [
    (file) => {
      const bytes = readFileSync(file);
      bytes.fill(0xff, 4096, bytes.length - 4096);
      writeFileSync(file, bytes);
    },
    /is damaged \(.*\); restore it from a backup, or name another file in PORTICO_STORE$/,
  ],
  "no database": [(file) => writeFileSync(file, "x".repeat(9000)), /is not a store of Portico, or is damaged; /],
};

for (const [what, [damage, message]] of Object.entries(damages)) {
  t.test(`refuses a file that is ${what}, and does not change it`, async (t) => {
    const folder = t.testdir();
    const file = await filled(folder);
    damage(file);
    const before = readFileSync(file);
    const error = await openStore("sqlite:", folder).then(
      (store) => store.close(),
      (error) => error,
    );
    t.match(error, { name: "StoreError", message });
    t.ok(error.message.startsWith(`store ${file} `));
    t.notMatch(error.message, "\n");
    t.ok(readFileSync(file).equals(before), "it is left as it is");
  });
}

/** Changes that only SQLite can make to a file. */
const CHANGES: Record<string, [statements: string[], message: RegExp]> = {
  "of a newer format": [
    ["PRAGMA user_version = 7"],
    /was written by a newer Portico: its format is 7, and this version of Portico knows formats up to 2; run that/,
  ],
  "of a newer format, as far as the file itself is written": [
    ["PRAGMA user_version = 7", "PRAGMA wal_checkpoint(TRUNCATE)"],
    /was written by a newer Portico: its format is 7/,
  ],
  "whose schema is damaged": [
    ["PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET sql = 'CREATE nonsense' WHERE name = 'entries'"],
    /is damaged \(.*malformed.*\); restore it from a backup, or name another file in PORTICO_STORE$/,
  ],
  "whose table has other columns": [
    ["DROP TABLE entries", "CREATE TABLE entries (id INTEGER)"],
    /cannot be used: .*no such column.*; restore it from a backup, or name another file in PORTICO_STORE$/,
  ],
};

for (const [what, [statements, message]] of Object.entries(CHANGES)) {
  t.test(`refuses a file ${what}`, async (t) => {
    const folder = t.testdir();
    const file = await filled(folder);
    const other = new KeyvSqlite(`sqlite://${file}`);
    for (const statement of statements) await other.query(statement);
    const opening = openStore("sqlite:", folder).then(async (store) => {
      try {
        await openJournal(store);
      } finally {
        await store.close();
      }
    });
    const error = await opening.catch((error) => error);
    await other.close();
    t.match(error, { name: "StoreError", message });
    t.ok(error.message.startsWith(`store ${file} `), error.message);
    t.notMatch(error.message, "\n");
  });
}

t.test("refuses a database of another program", async (t) => {
  const file = join(t.testdir(), "other.sqlite");
  const other = new KeyvSqlite(`sqlite://${file}`);
  await other.set("key", "value");
  await other.close();
  await t.rejects(openStore(`sqlite:${file}`, ""), { message: /is not a store of Portico/ });
});

t.test("refuses a folder in the file's place", async (t) => {
  const folder = t.testdir({ "portico.sqlite": {} });
  await t.rejects(openStore("sqlite:", folder), {
    name: "StoreError",
    message: /cannot be used: EISDIR.*; restore it from a backup/,
  });
});

t.test("the error for a full disk does not suggest to restore a backup", async (t) => {
  const kind = { title: "a store", applicationId: 1, format: 0, isChecked: false, setting: "PORTICO_STORE" };
  const messageOf = (code: string) => toStoreError(kind, "file", Object.assign(new Error(code), { code })).message;
  for (const code of ["SQLITE_FULL", "ENOSPC"])
    t.equal(messageOf(code), `store file cannot grow (${code}); make room on its disk`);
  t.equal(
    messageOf("SQLITE_IOERR"),
    "store file cannot be read or written (SQLITE_IOERR); see whether its disk is full, or failing",
  );
});

t.test("refuses a record of the installation that cannot be read", async (t) => {
  const folder = t.testdir({ "store-location": {} });
  await t.rejects(openStore("sqlite:", folder), {
    name: "StoreError",
    message: /store-location cannot be read \(EISDIR.*\); put the file back, or give this user the right to read it$/,
  });
});

t.test("reports a folder that cannot be created", async (t) => {
  const file = join(t.testdir({ taken: "a file" }), "taken", "data", "portico.sqlite");
  const folder = dirname(file);
  await t.rejects(openStore("sqlite:", folder), {
    name: "StoreError",
    message: new RegExp(
      `^store ${file} has no folder, and ${folder} cannot be created \\(ENOTDIR.*\\); give this user the right to create ` +
        "it, or name another folder in PORTICO_DATA or PORTICO_STORE$",
    ),
  });
});

t.test("reports a file in the place of the store's folder", async (t) => {
  const folder = join(t.testdir({ taken: "a file" }), "taken");
  await t.rejects(openStore("sqlite:", folder), {
    name: "StoreError",
    message: /has no folder, but a file in its place; name a folder in PORTICO_DATA, or another file in PORTICO_STORE$/,
  });
});

t.test("reports a file that it may not read", { skip: process.getuid?.() === 0 && "root may read all" }, async (t) => {
  const folder = t.testdir();
  chmodSync(await filled(folder), 0o000);
  await t.rejects(openStore("sqlite:", folder), {
    message: /may not be read and written, or its folder may not; give this user the right/,
  });
});

t.test("reports a locked file within the deadline", async (t) => {
  const folder = t.testdir();
  const file = await filled(folder);
  const other = new KeyvSqlite(`sqlite://${file}`);
  await other.query("PRAGMA locking_mode = EXCLUSIVE");
  await other.query("BEGIN EXCLUSIVE");
  await t.rejects(openStore("sqlite:", folder, { timeoutMs: 2_000 }), {
    name: "StoreError",
    message: `store ${file} is locked by another process; stop that process, or name another file in PORTICO_STORE`,
  });
  await other.query("COMMIT");
  await other.close();
  await t.resolves(
    openStore("sqlite:", folder).then((store) => store.close()),
    "free again, it opens",
  );
});

t.test("an operation that takes too long rejects with the reason", async (t) => {
  const folder = t.testdir();
  const store: KeyValueStore = await openStore("sqlite:", folder, { timeoutMs: 2_000 });
  t.teardown(() => store.close());
  const other = new KeyvSqlite(`sqlite://${join(folder, "portico.sqlite")}`);
  t.teardown(() => other.close());
  await other.query("BEGIN IMMEDIATE");
  await t.rejects(collectionOf(store, "log").create("1", "x"), {
    name: "StoreError",
    message: /portico\.sqlite is locked by another process; stop that process/,
  });
  await other.query("ROLLBACK");
  t.equal(await collectionOf(store, "log").create("1", "x"), true);
});

t.test("only the owner may read a new file, and a copy of it can be opened", async (t) => {
  const folder = join(t.testdir(), "data");
  const file = await filled(folder);
  t.equal((statSync(file).mode & 0o777).toString(8), "600");
  t.equal((statSync(folder).mode & 0o777).toString(8), "700");
  const copies = join(folder, "copies");
  mkdirSync(copies);
  copyFileSync(file, join(copies, "copy.sqlite"));
  const copy = await openStore(`sqlite:${join(copies, "copy.sqlite")}`, "");
  t.equal((await collectionOf(copy, "log").keys()).length, 100);
  await copy.close();
});
