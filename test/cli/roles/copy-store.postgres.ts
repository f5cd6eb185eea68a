/** `portico store copy` from a file to Postgres and back, and the rest of an interrupted copy. */

import { join } from "node:path";
import t, { type Test } from "tap";
import { COLLECTIONS, collectionOf } from "../../../src/store/collection.js";
import { copyStore } from "../../../src/store/copy.js";
import { fillStore, openStore } from "../../../src/store/open.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { installation } from "../../support/installation.js";
import { noPostgres, PASSWORD, startPostgres } from "../../support/postgres.js";
import { temporaryFolder } from "../../support/temporary.js";
import { portico } from "../command-line.js";

const warn = (): void => undefined;

async function contentOf(t: Test, url: string): Promise<Record<string, unknown>> {
  const store = await openStore(url, temporaryFolder(t), { mustExist: true });
  const content: Record<string, unknown> = {};
  for (const name of COLLECTIONS) content[name] = await collectionOf(store, name).after("", 1e6);
  await store.close();
  return content;
}

const WHOLE = { kind: "authority", asCopy: false } as const;

t.test("a store is copied from a file to Postgres and back, unchanged", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const data = await installation(t.testdir());
  const file = `sqlite:${join(data, "portico.sqlite")}`;
  const before = await contentOf(t, file);
  const there = await portico(["store", "copy", "sqlite:", server.url(), "--data", data]);
  t.equal(there.exit, 0, there.stderr);
  t.match(there.stdout, `to postgres://127.0.0.1:${server.port}/portico, and compared:`);
  t.match(there.stderr, /fsync is off/);
  t.same(await contentOf(t, server.url()), before);
  const copy = `sqlite:${join(temporaryFolder(t), "copy.sqlite")}`;
  const back = await portico(["store", "copy", server.url(), copy]);
  t.equal(back.exit, 0, back.stderr);
  t.same(await contentOf(t, copy), before);
  for (const { stdout, stderr } of [there, back]) t.notMatch(stdout + stderr, PASSWORD);

  const again = await portico(["store", "copy", file, server.url()]);
  t.equal(again.exit, 1);
  t.match(again.stderr, /the schema portico is not free for a copy; it is marked as authority/);
});

t.test("an interrupted copy is not a store, and can be completed", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const data = await installation(t.testdir());
  const source = await openStore("sqlite:", data);
  t.teardown(() => source.close());
  const breakOff = async (target: KeyValueStore): Promise<void> => {
    const [[key, value] = ["", ""]] = await collectionOf(source, "log").after("", 1);
    await collectionOf(target, "log").create(key, value);
    throw new Error("broken off");
  };
  const targets = { sqlite: `sqlite:${join(temporaryFolder(t), "copy.sqlite")}`, postgres: server.url() };
  for (const [engine, url] of Object.entries(targets)) {
    await t.rejects(fillStore("authority", url, "", { fill: breakOff, warn }), { message: /broken off/ }, engine);
    await t.rejects(openStore(url, "", { mustExist: true }), {
      message: /does not exist$|is not a store of Portico; it is marked as unfinished copy \(authority\)$/,
    });
    await fillStore("authority", url, "", {
      fill: async (target) => void (await copyStore(source, target, WHOLE)),
      warn,
    });
    t.same(await contentOf(t, url), await contentOf(t, `sqlite:${source.name}`), engine);
  }
});

t.test("a copy that differs is not a store", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const source = await openStore("sqlite:", temporaryFolder(t));
  t.teardown(() => source.close());
  await collectionOf(source, "log").create("1", "x");
  const strange = async (target: KeyValueStore): Promise<void> => {
    await collectionOf(target, "log").create("2", "of another copy");
    await copyStore(source, target, WHOLE);
  };
  await t.rejects(fillStore("authority", server.url(), "", { fill: strange, warn }), {
    message: /is no copy of .*\. Either an authority/,
  });
  await t.rejects(openStore(server.url(), ""), { message: /it is marked as unfinished copy \(authority\)$/ });
});
