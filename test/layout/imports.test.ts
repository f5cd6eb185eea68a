// Each folder imports only the folders in its row, and no file is in an import cycle, so that a
// part can be read, tested and replaced alone.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import t from "tap";
import ts from "typescript";
import { tablesOf } from "../docs/markdown.js";

/**
 * The folders in order, from the lowest. A row is a folder and the folders above its row that it
 * may import. A folder is one level deep; its subfolders share its row. `src` and `gateway` are the
 * files at their roots. `services` is each service of the catalogue, which imports no more than a
 * service outside this repository can.
 */
const PLAN: readonly (readonly [folder: string, ...mayImport: string[]])[] = [
  ["src/wire"],
  ["src/gen", "src/wire"],
  ["src/contract", "src/gen"],
  ["src", "src/gen", "src/contract"],
  ["src/api"],
  ["src/client"],
  ["src/address"],
  ["src/memory", "src/address"],
  ["src/overload"],
  ["src/config", "src/gen", "src/contract", "src", "src/address"],
  ["src/json", "src/wire", "src/contract", "src/overload"],
  ["src/http2", "src/wire", "src/memory"],
  ["src/call", "src/gen", "src/contract", "src"],
  ["src/telemetry", "src/wire", "src", "src/address", "src/call"],
  [
    "src/rpc",
    "src/wire",
    "src/gen",
    "src/contract",
    "src",
    "src/address",
    "src/memory",
    "src/overload",
    "src/config",
    "src/http2",
    "src/call",
    "src/telemetry",
  ],
  ["src/limits", "src/gen", "src/contract", "src", "src/address", "src/call", "src/rpc"],
  [
    "src/access",
    "src/wire",
    "src/gen",
    "src/contract",
    "src",
    "src/address",
    "src/memory",
    "src/call",
    "src/rpc",
    "src/limits",
  ],
  ["src/store", "src"],
  [
    "src/process",
    "src/wire",
    "src/gen",
    "src/contract",
    "src",
    "src/address",
    "src/memory",
    "src/overload",
    "src/config",
    "src/call",
    "src/telemetry",
    "src/rpc",
    "src/access",
  ],
  [
    "src/kit",
    "src/wire",
    "src/gen",
    "src/contract",
    "src",
    "src/address",
    "src/memory",
    "src/overload",
    "src/config",
    "src/call",
    "src/rpc",
    "src/access",
    "src/store",
    "src/process",
  ],
  [
    "services/auth",
    "src/wire",
    "src/gen",
    "src/contract",
    "src/api",
    "src",
    "src/address",
    "src/memory",
    "src/overload",
    "src/config",
    "src/call",
    "src/rpc",
    "src/limits",
    "src/access",
    "src/store",
  ],
  [
    "services/registry",
    "src/wire",
    "src/gen",
    "src/contract",
    "src",
    "src/address",
    "src/memory",
    "src/overload",
    "src/config",
    "src/call",
    "src/rpc",
    "src/access",
  ],
  ["services/patterns", "src/kit"],
  ["services", "src/gen", "src/kit", "services/patterns"],
  ["gateway/http", "src/wire", "src/gen", "src/contract", "src", "src/address", "src/json", "src/call", "src/rpc"],
  ["gateway/node", "src", "src/address", "src/memory", "src/overload", "src/config", "src/http2", "gateway/http"],
  [
    "gateway/catalog",
    "src/gen",
    "src/contract",
    "src",
    "src/address",
    "src/memory",
    "src/overload",
    "src/json",
    "src/call",
    "src/rpc",
    "src/access",
    "gateway/http",
  ],
  [
    "gateway/stages",
    "src/contract",
    "src",
    "src/address",
    "src/overload",
    "src/config",
    "src/call",
    "src/telemetry",
    "src/rpc",
    "gateway/http",
    "gateway/catalog",
  ],
  [
    "gateway/dialects",
    "src/wire",
    "src/contract",
    "src",
    "src/overload",
    "src/config",
    "src/json",
    "src/call",
    "src/rpc",
    "gateway/http",
    "gateway/catalog",
    "gateway/stages",
  ],
  ["gateway", "gateway/http", "gateway/stages", "gateway/dialects"],
  [
    "gateway/openapi",
    "src/contract",
    "src",
    "src/memory",
    "src/overload",
    "src/json",
    "src/call",
    "src/access",
    "gateway/http",
    "gateway/catalog",
    "gateway/stages",
    "gateway/dialects",
  ],
  [
    "gateway/built-in",
    "src/gen",
    "src/contract",
    "src",
    "src/address",
    "src/memory",
    "src/call",
    "src/telemetry",
    "src/rpc",
    "gateway/http",
    "gateway/catalog",
    "gateway/stages",
  ],
  ["gateway/web", "src/contract", "src/api", "src/limits"],
  ["cli/terminal", "src/api", "src/config"],
  ["cli/http", "src/wire", "src", "src/api", "cli/terminal"],
  ["cli/command", "src/contract", "src/api", "cli/terminal", "cli/http"],
  ["cli/nouns", "src/contract", "src/api", "src/limits", "cli/terminal", "cli/http", "cli/command"],
  ["cli/call", "src/contract", "src/api", "cli/terminal", "cli/http", "cli/command"],
  ["cli/client", "cli/terminal", "cli/command"],
  ["cli/mcp", "cli/terminal", "cli/http", "cli/command"],
  ["cli/completion", "cli/terminal", "cli/command"],
  [
    "cli/roles",
    "src/contract",
    "src",
    "src/address",
    "src/config",
    "src/call",
    "src/telemetry",
    "src/rpc",
    "src/access",
    "src/store",
    "src/process",
    "src/kit",
    "services/auth",
    "services/registry",
    "services",
    "gateway/http",
    "gateway/node",
    "gateway/catalog",
    "gateway/stages",
    "gateway",
    "gateway/openapi",
    "gateway/built-in",
    "cli/terminal",
    "cli/command",
  ],
  [
    "cli/doctor",
    "src/gen",
    "src/contract",
    "src",
    "src/address",
    "src/api",
    "src/config",
    "src/rpc",
    "src/store",
    "src/process",
    "services/auth",
    "cli/terminal",
    "cli/http",
    "cli/command",
    "cli/roles",
  ],
  ["cli/services", "src/gen", "src/address", "src/api", "src/config", "cli/terminal", "cli/command", "cli/roles"],
  [
    "cli/configuration",
    "src/contract",
    "src/api",
    "src/config",
    "src/limits",
    "cli/terminal",
    "cli/http",
    "cli/command",
    "cli/nouns",
    "cli/roles",
    "cli/services",
  ],
  ["cli/new", "src/contract", "cli/terminal", "cli/roles"],
  [
    "cli/dev",
    "src/gen",
    "src/contract",
    "src",
    "src/address",
    "src/config",
    "src/call",
    "src/rpc",
    "cli/terminal",
    "cli/command",
    "cli/roles",
  ],
  [
    "cli",
    "src/contract",
    "src/config",
    "cli/terminal",
    "cli/command",
    "cli/nouns",
    "cli/call",
    "cli/client",
    "cli/mcp",
    "cli/completion",
    "cli/roles",
    "cli/doctor",
    "cli/services",
    "cli/configuration",
    "cli/new",
    "cli/dev",
  ],
];

/** The rows by folder. A file whose folder is not in a row is an error. */
const ALLOWED = new Map(PLAN.map(([folder, ...mayImport]) => [folder, mayImport]));

const files = ["src", "services", "gateway", "cli"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name)),
);

/** The files that a file imports, including imports of types only. */
function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, "utf8"), true, true);
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith("."))
    .map(({ fileName }) => resolve(file, fileName));
}

function resolve(from: string, target: string): string {
  const path = normalize(join(dirname(from), target));
  const stem = path.replace(/\.js$/, "");
  const found = [`${stem}.ts`, `${stem}.tsx`, path].find(existsSync);
  if (found === undefined) throw new Error(`${from} imports ${target}, which is no file`);
  return found;
}

function folderOf(file: string): string {
  let folder = file;
  while (!ALLOWED.has(folder) && folder !== ".") folder = dirname(folder);
  return folder;
}

const imports = new Map(files.map((file) => [file, importsOf(file)]));

t.test("each file is in a folder of the table, and no folder is empty", async (t) => {
  t.same(
    files.filter((file) => !ALLOWED.has(folderOf(file))),
    [],
  );
  t.same(
    [...ALLOWED.keys()].filter((folder) => !files.some((file) => folderOf(file) === folder)),
    [],
    "and no folder is empty",
  );
});

t.test("a row names only folders of the rows above it", async (t) => {
  const folders = PLAN.map(([folder]) => folder);
  const wrong = PLAN.flatMap(([folder, ...mayImport], row) =>
    mayImport
      .filter((target) => !ALLOWED.has(target) || folders.indexOf(target) >= row)
      .map((target) => `${folder} -> ${target}`),
  );
  t.same(wrong, []);
});

t.test("docs/architecture.md shows the table", async (t) => {
  const tables = tablesOf(readFileSync("docs/architecture.md", "utf8"));
  const shown = tables.find(({ header }) => header.join() === "folder,may import")?.rows;
  const code = (name: string) => `\`${name}\``;
  t.same(
    shown,
    PLAN.map(([folder, ...mayImport]) => [code(folder), mayImport.map(code).join(", ") || "nothing"]),
  );
});

t.test("a folder imports only what its row allows", async (t) => {
  const allowed = (folder: string, to: string) => {
    const names = [folder, ...(ALLOWED.get(folder) ?? [])];
    return names.includes(folderOf(to)) || to === "package.json";
  };
  const broken = [...imports].flatMap(([from, targets]) =>
    targets.filter((to) => !allowed(folderOf(from), to)).map((to) => `${from} -> ${to}`),
  );
  t.same(broken, []);
});

t.test("each import that a row allows exists", async (t) => {
  const used = (folder: string, target: string) =>
    [...imports].some(([from, targets]) => folderOf(from) === folder && targets.some((to) => folderOf(to) === target));
  const unused = PLAN.flatMap(([folder, ...mayImport]) =>
    mayImport.filter((target) => !used(folder, target)).map((target) => `${folder} -> ${target}`),
  );
  t.same(unused, []);
});

t.test("no file imports itself through other files", async (t) => {
  t.same(circlesIn(imports), []);
  const circle = new Map([
    ["a", ["b"]],
    ["b", ["a"]],
  ]);
  t.same(circlesIn(circle), ["a -> b -> a"], "one would be seen");
});

/** Each cycle of a graph, as a path that ends at its first file. */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    else if (!done.has(file)) for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return circles;
}
