/**
 * Files are written under a temporary name first. Any process may be killed meanwhile, and another
 * one may write the same file at the same time.
 */
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { finish, writeAnew, writeOnce } from "../../src/folder.js";
import { fillStore, openStore } from "../../src/store/open.js";

/** What killed processes leave beside a file. */
const LEFT = ["", "-wal", "-shm", "-journal"].map((end) => `.2a808355-329a-4ec9-aacd-e3f6c6656661.new${end}`);
/** What is not theirs: a backup that is being written, and the user's own. */
const OTHERS = [".21471-0123abcd.new", ".new", ".old"];

const WRITERS: Record<string, (file: string) => unknown> = {
  "a file that is written once": (file) => writeOnce(file, () => "text"),
  "a file that is replaced": (file) => writeAnew(file, "text"),
  "a store": async (file) => (await openStore(`sqlite:${file}`, join(file, ".."))).close(),
};
for (const [what, write] of Object.entries(WRITERS)) {
  t.test(`who writes ${what} deletes what killed processes have left of it`, async (t) => {
    const file = join(t.testdir(), "token");
    for (const end of [...LEFT, ...OTHERS]) writeFileSync(file + end, "");
    await write(file);
    t.same(readdirSync(join(file, "..")).sort(), ["token", ...OTHERS.map((end) => `token${end}`)].sort());
  });
}

t.test("of processes that write a file at once, even with one process ID, the first one counts", async (t) => {
  const file = join(t.testdir(), "token");
  const isFirst: boolean[] = [];
  const second = writeOnce(file, () => {
    isFirst.push(writeOnce(file, () => "of the first"));
    return "of the second";
  });
  t.same([...isFirst, second], [true, false]);
  t.equal(readFileSync(file, "utf8"), "of the first\n");
  t.same(readdirSync(join(file, "..")), ["token"]);
});

t.test("a replacement whose draft another process has deleted counts as made before the other", async (t) => {
  const file = join(t.testdir(), "token");
  t.throws(() => finish(file, `${file}.gone`, renameSync), { code: "ENOENT" });
  writeAnew(file, "of the other");
  t.equal(finish(file, `${file}.gone`, renameSync), false);
  t.equal(readFileSync(file, "utf8"), "of the other\n");
});

t.test("a store is not filled if another process creates it meanwhile", async (t) => {
  const folder = t.testdir();
  const url = `sqlite:${join(folder, "copy.sqlite")}`;
  const fill = async (): Promise<void> => {
    await (await openStore(url, folder)).close();
  };
  await t.rejects(fillStore("authority", url, folder, { fill, warn: () => {} }), { message: /is there already/ });
  t.same(readdirSync(folder), ["copy.sqlite"]);
  t.ok(existsSync(join(folder, "copy.sqlite")));
});
