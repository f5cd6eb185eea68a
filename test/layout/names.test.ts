// A type name has one meaning: no two files export it. Pages of the browser and generated clients
// are excluded, because they are read on their own.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

const ROOTS = ["src", "gateway", "services", "cli"];
const APART = /^(?:src\/gen|src\/client|gateway\/web)\//;
const EXPORTED = /^export (?:abstract )?(?:interface|class|type|enum) (\w+)/gm;

/** The files that export each type, by its name. */
function exportersOf(files: ReadonlyMap<string, string>): Map<string, string[]> {
  const exporters = new Map<string, string[]>();
  for (const [file, text] of files) {
    for (const [, name = ""] of text.matchAll(EXPORTED)) exporters.set(name, [...(exporters.get(name) ?? []), file]);
  }
  return exporters;
}

const files = new Map(
  ROOTS.flatMap((root) => readdirSync(root, { recursive: true, encoding: "utf8" }).map((name) => join(root, name)))
    .filter((file) => /\.tsx?$/.test(file) && !APART.test(file))
    .map((file): [string, string] => [file, readFileSync(file, "utf8")])
    .filter(([, text]) => !text.startsWith("// Generated")),
);

t.test("no two files export the same type name", async (t) => {
  t.same(
    [...exportersOf(files)]
      .filter(([, where]) => where.length > 1)
      .map(([name, where]) => `${name}: ${where.join(", ")}`),
    [],
  );
  const twice = new Map([
    ["a.ts", "export interface Page<T> {"],
    ["b.ts", "export class Page {"],
  ]);
  t.same([...exportersOf(twice)], [["Page", ["a.ts", "b.ts"]]], "one would be seen");
});
