// Each room imports only what its row allows, and no file is in a circle, so that a part can be read, tested and replaced alone.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import t from "tap";
import ts from "typescript";
import { tablesOf } from "../docs/markdown.js";

/**
 * The plan of the house, from the ground up: a room, and the rooms of rows above that it may import beside its own files.
 * A room is a folder one level deep; its subfolders share its row. `src` and `gateway` are the files at their roots, and
 * `services` is each service of the catalogue, which imports no more than a service outside this repository can.
 */
const PLAN: readonly (readonly [room: string, ...mayImport: string[]])[] = [
  ["src/wire"],
  ["src/gen", "src/wire"],
  ["src/contract", "src/gen"],
  ["src", "src/gen", "src/contract"],
  ["src/api"],
  ["src/client"],
  ["src/address"],
  ["src/memory", "src/address"],
  ["src/overload"],
  ["src/config", "src/contract", "src", "src/address"],
  ["src/json", "src/wire", "src/contract", "src/overload"],
  ["src/http2", "src/wire", "src/memory"],
  ["src/call", "src/contract", "src"],
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
  ],
  ["src/access", "src/wire", "src/gen", "src/contract", "src", "src/memory", "src/call", "src/rpc"],
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
    "src",
    "src/address",
    "src/memory",
    "src/overload",
    "src/config",
    "src/call",
    "src/rpc",
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
    "src/call",
    "src/rpc",
    "gateway/http",
    "gateway/catalog",
    "gateway/stages",
  ],
  ["gateway/web", "src/contract", "src/api"],
  ["cli/terminal", "src/api", "src/config"],
  ["cli/http", "src/wire", "src", "src/api", "cli/terminal"],
  ["cli/command", "src/contract", "src/api", "cli/terminal", "cli/http"],
  ["cli/nouns", "src/contract", "src/api", "cli/terminal", "cli/http", "cli/command"],
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
    "src/rpc",
    "src/access",
    "src/store",
    "src/process",
    "src/kit",
    "services/auth",
    "services/registry",
    "services",
    "gateway/node",
    "gateway/catalog",
    "gateway/stages",
    "gateway",
    "gateway/openapi",
    "gateway/built-in",
    "cli/terminal",
    "cli/command",
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
    "cli/new",
    "cli/dev",
  ],
];

/** The rows by name; what is in none is a file without a room. */
const ALLOWED = new Map(PLAN.map(([room, ...mayImport]) => [room, mayImport]));

const files = ["src", "services", "gateway", "cli"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name)),
);

/** The files that a file imports, also for their types alone. */
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

function roomOf(file: string): string {
  let room = file;
  while (!ALLOWED.has(room) && room !== ".") room = dirname(room);
  return room;
}

const imports = new Map(files.map((file) => [file, importsOf(file)]));

t.test("each file is in a room of the plan", async (t) => {
  t.same(
    files.filter((file) => !ALLOWED.has(roomOf(file))),
    [],
  );
  t.same(
    [...ALLOWED.keys()].filter((room) => !files.some((file) => roomOf(file) === room)),
    [],
    "and no room is empty",
  );
});

t.test("the rooms that a row names lie below its own", async (t) => {
  const rooms = PLAN.map(([room]) => room);
  const wrong = PLAN.flatMap(([room, ...mayImport], row) =>
    mayImport
      .filter((target) => !ALLOWED.has(target) || rooms.indexOf(target) >= row)
      .map((target) => `${room} -> ${target}`),
  );
  t.same(wrong, []);
});

t.test("docs/architecture.md shows the plan", async (t) => {
  const tables = tablesOf(readFileSync("docs/architecture.md", "utf8"));
  const shown = tables.find(({ header }) => header.join() === "folder,may import")?.rows;
  const code = (name: string) => `\`${name}\``;
  t.same(
    shown,
    PLAN.map(([room, ...mayImport]) => [code(room), mayImport.map(code).join(", ") || "nothing"]),
  );
});

t.test("a room imports only what its row allows", async (t) => {
  const allowed = (room: string, to: string) => {
    const names = [room, ...(ALLOWED.get(room) ?? [])];
    return names.includes(roomOf(to)) || to === "package.json";
  };
  const broken = [...imports].flatMap(([from, targets]) =>
    targets.filter((to) => !allowed(roomOf(from), to)).map((to) => `${from} -> ${to}`),
  );
  t.same(broken, []);
});

t.test("what a row allows is imported", async (t) => {
  const used = (room: string, target: string) =>
    [...imports].some(([from, targets]) => roomOf(from) === room && targets.some((to) => roomOf(to) === target));
  const unused = PLAN.flatMap(([room, ...mayImport]) =>
    mayImport.filter((target) => !used(room, target)).map((target) => `${room} -> ${target}`),
  );
  t.same(unused, []);
});

t.test("no file imports itself by way of others", async (t) => {
  t.same(circlesIn(imports), []);
  const circle = new Map([
    ["a", ["b"]],
    ["b", ["a"]],
  ]);
  t.same(circlesIn(circle), ["a -> b -> a"], "one would be seen");
});

/** Each circle of a graph, as a path that ends where it began. */
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
