// Whoever looks for the tests of a file finds them, as docs/architecture.md says: by the path, by the
// folder, or by the first comment of the test.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import { tablesOf } from "../docs/markdown.js";

const KINDS = /\.(?:test|slow|outside|postgres|browser|faults)\.ts$/;
/** What `test` mirrors: its own folders `gateway`, `services` and `cli` those of the root, all others those of `src`. */
const ROOTS = ["", "src"];
const HEADER = /^(?:\/\/.*\n)+|^\/\*\*[\s\S]*?\*\//;
const PATH = /[\w.-]+(?:\/[\w.-]*\w)+/g;

const tests = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((name) => KINDS.test(name))
  .sort();

const pathsIn = (text: string): string[] => text.match(PATH) ?? [];
const exists = (path: string): boolean => ["", ".ts", ".tsx", ".mjs"].some((end) => existsSync(path + end));
const subjects = tablesOf(readFileSync("docs/architecture.md", "utf8")).find(
  ({ header }) => header.join() === "folder of tests,subject",
)?.rows;
const folders = new Set(subjects?.flatMap(([folder = ""]) => pathsIn(folder)));

/** Whether its subject can be told. @param name of the test in `test`; `text` is the test's */
function isFindable(name: string, text: string): boolean {
  const folder = dirname(name);
  if (folders.has(join("test", folder))) return true;
  const mirrored = [name.replace(KINDS, ""), ...(folder === "." ? [] : [folder])];
  if (mirrored.some((path) => ROOTS.some((root) => exists(join(root, path))))) return true;
  return pathsIn(HEADER.exec(text)?.[0] ?? "").some(exists);
}

t.test("each test mirrors a source, is in a folder with a subject, or names a file", async (t) => {
  const lost = tests.filter((name) => !isFindable(name, readFileSync(join("test", name), "utf8")));
  t.same(lost, []);
  t.notOk(isFindable("elsewhere/some.test.ts", "// Shows something.\n"), "one that does not would be seen");
  t.notOk(isFindable("elsewhere/some.test.ts", "// Of src/absent.ts.\n"), "nor one that names what is gone");
  t.ok(isFindable("elsewhere/some.test.ts", "// Of src/config/config.ts.\n"));
});

t.test("the subjects of folders exist, and so do the folders", async (t) => {
  const named = (subjects ?? []).flatMap(([folder = "", subject = ""]) => [
    ...pathsIn(folder),
    ...[...subject.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
  ]);
  t.ok(named.length > 20);
  t.same(
    named.filter((path) => !existsSync(path)),
    [],
  );
});
