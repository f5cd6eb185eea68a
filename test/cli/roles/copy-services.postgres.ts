/**
 * `portico store copy --services` from a file to Postgres and back, and the rest of an interrupted
 * copy.
 */

import { join } from "node:path";
import t from "tap";
import { copyStore } from "../../../src/store/copy.js";
import { fillStore, openServiceStore } from "../../../src/store/open.js";
import type { KeyValueStore } from "../../../src/store/store.js";
import { noPostgres, PASSWORD, startPostgres } from "../../support/postgres.js";
import { temporaryFolder } from "../../support/temporary.js";
import { portico } from "../command-line.js";

const warn = (): void => undefined;

/** Every entry without its version, which differs in a copy. */
async function contentOf(url: string): Promise<unknown[]> {
  const store = await openServiceStore(url, "", { mustExist: true });
  const { entries } = await store.range({ from: "", to: "\u{10ffff}", limit: 1e6 });
  await store.close();
  return entries.map(({ key, value, expires }) => ({ key, value, expires }));
}

async function fillFile(file: string, count: number): Promise<void> {
  const store = await openServiceStore(`sqlite:${file}`, "");
  const expires = Date.now() + 3_600_000;
  const keys = Array.from({ length: count }, (_, index) => `db/${index}/\u00e9\u{1f600}\u0000`);
  await store.commit(
    keys.map((key, index) => ({ kind: "set", key, value: `"${key}"`, expires: index % 3 ? expires : undefined })),
  );
  await store.close();
}

t.test("data of services is copied from a file to Postgres and back, unchanged", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const file = join(temporaryFolder(t), "services.sqlite");
  await fillFile(file, 450);
  const before = await contentOf(`sqlite:${file}`);
  const there = await portico(["store", "copy", "--services", `sqlite:${file}`, server.url()]);
  t.equal(there.exit, 0, there.stderr);
  t.match(
    there.stdout,
    `to postgres://127.0.0.1:${server.port}/portico, and compared:\n\n     450 entries of services`,
  );
  t.same(await contentOf(server.url()), before);
  const copy = join(temporaryFolder(t), "copy.sqlite");
  const back = await portico(["store", "copy", "--services", server.url(), `sqlite:${copy}`]);
  t.equal(back.exit, 0, back.stderr);
  t.same(await contentOf(`sqlite:${copy}`), before);
  for (const { stdout, stderr } of [there, back]) t.notMatch(stdout + stderr, PASSWORD);

  const again = await portico(["store", "copy", "--services", `sqlite:${file}`, server.url()]);
  t.equal(again.exit, 1);
  t.match(again.stderr, /the schema portico_services is not free for a copy; it is marked as services/);
  const other = server.url("portico", { query: "?schema=other" });
  await t.rejects(openServiceStore(other, "", { mustExist: true }), {
    message: /has no schema other, and so holds no store/,
  });
});

t.test("an interrupted copy on Postgres is not a store, and can be completed", { skip: noPostgres }, async (t) => {
  const server = await startPostgres(t);
  const file = join(temporaryFolder(t), "services.sqlite");
  await fillFile(file, 3);
  const source = await openServiceStore(`sqlite:${file}`, "");
  t.teardown(() => source.close());
  const breakOff = async (target: KeyValueStore): Promise<void> => {
    await target.commit([{ kind: "set", key: "db/0/\u00e9\u{1f600}\u0000", value: "half", expires: undefined }]);
    throw new Error("broken off");
  };
  await t.rejects(fillStore("services", server.url(), "", { fill: breakOff, warn }), { message: /broken off/ });
  await t.rejects(openServiceStore(server.url(), ""), { message: /it is marked as unfinished copy \(services\)$/ });
  await fillStore("services", server.url(), "", {
    fill: async (target) => void (await copyStore(source, target, { kind: "services", asCopy: false })),
    warn,
  });
  t.same(await contentOf(server.url()), await contentOf(`sqlite:${file}`));
});
