/**
 * Writes to a file that was deleted or replaced while it was open would be lost. So they are
 * refused, while reads go on.
 */

import { copyFileSync, renameSync, rmSync } from "node:fs";
import t, { type Test } from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { openServiceStore, openStore } from "../../src/store/open.js";

/**
 * An open store: its file, a function that writes a new key each time, and one that reads the
 * first.
 */
interface Opened {
  readonly file: string;
  isInPlace(): boolean;
  write(): Promise<unknown>;
  read(): Promise<unknown>;
}

const STORES: Record<string, (t: Test) => Promise<Opened>> = {
  "the authority": async (t) => {
    const store = await openStore("sqlite:", t.testdir());
    t.teardown(() => store.close());
    const log = collectionOf(store, "log");
    let key = 0;
    return {
      file: store.name,
      isInPlace: () => store.isInPlace(),
      write: () => log.create(`${key++}`, "x"),
      read: () => log.get("0"),
    };
  },
  services: async (t) => {
    const store = await openServiceStore("sqlite:", t.testdir());
    t.teardown(() => store.close());
    let key = 0;
    const write = () => store.commit([{ kind: "set", key: `${key++}`, value: "x", expires: undefined }]);
    return {
      file: store.name,
      isInPlace: () => store.isInPlace(),
      write,
      read: async () => (await store.get(["0"]))[0]?.value,
    };
  },
};

const LOSSES: Record<string, (file: string) => void> = {
  deleted: (file) => rmSync(file),
  "replaced by a copy": (file) => {
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
  },
  "without its write-ahead log": (file) => rmSync(`${file}-wal`),
};

for (const [whose, open] of Object.entries(STORES)) {
  for (const [what, lose] of Object.entries(LOSSES)) {
    t.test(`writes to a store of ${whose} that is ${what} are refused`, async (t) => {
      const { file, isInPlace, write, read } = await open(t);
      await write();
      t.ok(isInPlace());
      lose(file);
      t.notOk(isInPlace());
      for (const attempt of ["once", "again"]) {
        await t.rejects(
          write(),
          {
            message: `store ${file} was deleted or replaced while it was open: changes would be lost; stop this process, put the store back, and start it again`,
          },
          attempt,
        );
      }
      t.equal(await read(), "x");
    });
  }
}
