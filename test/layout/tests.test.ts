// A newcomer finds the tests of a file as docs/architecture.md says: by the path, by the folder, or
// by the first comment of the test.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import { tablesOf } from "../docs/markdown.js";

const KINDS = /\.(?:test|slow|outside|postgres|browser|faults)\.ts$/;
/**
 * The roots that `test` mirrors: its folders `gateway`, `services` and `cli` mirror folders of the
 * repository's root, and all others mirror folders of `src`.
 */
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

/**
 * Whether a reader can find the subject of a test.
 * @param name its path in `test`
 * @param text its content
 */
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

t.test("the folders in docs/architecture.md and their subjects exist", async (t) => {
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

t.test("only test/support/properties.ts imports fast-check, because it fixes the seed", async (t) => {
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const importing = files.filter((name) => /^import .*"fast-check"/m.test(readFileSync(join("test", name), "utf8")));
  t.same(importing, ["support/properties.ts"]);
});
