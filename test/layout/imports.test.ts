// Each room imports only what its row allows, and no file is in a circle, so that a part can be read, tested and replaced alone.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import t from "tap";
import ts from "typescript";
import { tablesOf } from "../docs/markdown.js";

/**
 * The plan of the house, from the ground up: a room, and what it may import beside its own files. That is rooms of rows
 * before its own, or single files of any room. A file belongs to the row with the longest name that its path begins with:
 * `src` is the files at its root, and a file that composes what lies beside it has a row of its own.
 */
const PLAN: readonly (readonly [room: string, ...mayImport: string[]])[] = [
  ["src/wire", "src/buffer.ts"],
  ["src/gen", "src/wire"],
  ["src/contract", "src/gen"],
  ["src", "src/gen", "src/contract"],
  ["src/json", "src", "src/wire", "src/contract/secrets.ts"],
  ["src/overload"],
  ["src/api"],
  ["src/client"],
  ["src/http2", "src", "src/wire"],
  // Of access control only the words: what decides asks the authority, and so lies above.
  [
    "src/rpc",
    "src",
    "src/gen",
    "src/contract",
    "src/http2",
    "src/overload",
    "src/access/admission.ts",
    "src/access/call-context.ts",
    "src/access/caller.ts",
    "src/access/token.ts",
  ],
  ["src/rpc/in-process", "src", "src/rpc"],
  ["src/rpc/grpc-js", "src", "src/http2", "src/rpc"],
  ["src/rpc/http2", "src", "src/http2", "src/rpc"],
  ["src/rpc/load-transport.ts", "src", "src/rpc", "src/rpc/grpc-js", "src/rpc/http2"],
  ["src/access", "src", "src/gen", "src/contract", "src/rpc"],
  ["src/store", "src"],
  [
    "src/process",
    "src",
    "src/gen",
    "src/contract",
    "src/overload",
    "src/rpc",
    "src/rpc/load-transport.ts",
    "src/access",
  ],
  ["src/kit", "src", "src/gen", "src/access", "src/wire", "src/contract", "src/rpc", "src/store", "src/process"],

  ["services/auth/log", "src", "src/gen", "src/contract", "src/access", "src/store"],
  ["services/auth/login", "src", "src/gen", "src/contract", "services/auth/log"],
  [
    "services/auth/endpoints",
    "src",
    "src/gen",
    "src/contract",
    "src/rpc",
    "src/access",
    "src/store",
    "services/auth/log",
    "services/auth/login",
  ],
  [
    "services/auth",
    "src",
    "src/gen",
    "src/contract",
    "src/rpc",
    "src/access",
    "src/store",
    "services/auth/log",
    "services/auth/login",
    "services/auth/endpoints",
  ],
  ["services/registry", "src", "src/gen", "src/contract", "src/rpc", "src/access"],
  // Each service of the catalogue: it imports no more than a service outside this repository can.
  ["services", "src/gen", "src/kit"],

  [
    "gateway",
    ...["src", "src/gen", "src/contract", "src/json", "src/overload"],
    ...["src/rpc/channel.ts", "src/rpc/status.ts", "src/access/token.ts"],
  ],
  ["gateway/node", "src", "src/http2", "src/overload", "gateway"],
  ["gateway/catalog", "src", "src/gen", "src/contract", "src/json", "src/rpc", "src/access", "gateway"],
  ["gateway/stages", "src", "src/contract", "src/overload", "src/rpc", "src/access", "gateway", "gateway/catalog"],
  [
    "gateway/dialects",
    "src",
    "src/contract",
    "src/json",
    "src/rpc",
    "src/rpc/http2",
    "gateway",
    "gateway/catalog",
    "gateway/stages",
  ],
  [
    "gateway/own",
    "src",
    "src/gen",
    "src/contract",
    "src/rpc",
    "src/rpc/in-process",
    "src/access",
    "gateway",
    "gateway/catalog",
    "gateway/stages",
  ],
  [
    "gateway/openapi",
    "src",
    "src/contract",
    "src/json",
    "src/access",
    "gateway",
    "gateway/catalog",
    "gateway/stages",
    "gateway/dialects",
  ],
  [
    "gateway/dialects/mcp",
    "src",
    "src/contract",
    "src/json",
    "src/access",
    "gateway",
    "gateway/catalog",
    "gateway/stages",
    "gateway/dialects",
    "gateway/openapi",
  ],
  ["gateway/dialects/dialects.ts", "gateway", "gateway/stages", "gateway/dialects", "gateway/dialects/mcp"],
  ["gateway/handler.ts", "gateway", "gateway/stages", "gateway/dialects/dialects.ts"],
  ["gateway/web/http.ts", "src/api"],
  ["gateway/web/state", "gateway/web/http.ts"],
  ["gateway/web/ui", "gateway/web/http.ts", "gateway/web/state"],
  ["gateway/web/session", "src/api", "gateway/web/http.ts", "gateway/web/state", "gateway/web/ui"],
  [
    "gateway/web/explore",
    "src/api",
    ...["gateway/web/http.ts", "gateway/web/state", "gateway/web/ui", "gateway/web/session"],
  ],
  [
    "gateway/web/console",
    ...["src/contract", "src/api"],
    ...["gateway/web/http.ts", "gateway/web/state", "gateway/web/ui", "gateway/web/session"],
  ],
  [
    "gateway/web",
    ...["gateway/web/state", "gateway/web/ui", "gateway/web/session", "gateway/web/explore", "gateway/web/console"],
  ],

  ["cli/terminal", "src/api", "src/setting-values.ts"],
  ["cli/http", "src", "src/api", "cli/terminal"],
  ["cli/command", "src/contract", "src/api", "cli/terminal", "cli/http"],
  ["cli/nouns", "src/contract", "src/api", "cli/terminal", "cli/http", "cli/command"],
  ["cli/call", "src/contract", "src/api", "cli/terminal", "cli/http", "cli/command"],
  ["cli/client", "cli/terminal", "cli/command"],
  ["cli/mcp", "cli/terminal", "cli/http", "cli/command"],
  ["cli/completion", "cli/terminal", "cli/command"],
  ["cli/new", "src/contract", "cli/terminal", "cli/roles/own-services.ts"],
  // The only room that puts services and gateway together.
  [
    "cli/roles",
    ...["src", "src/contract", "src/rpc", "src/rpc/in-process", "src/access", "src/store"],
    ...["src/process", "src/kit", "services/auth", "services/registry", "services"],
    ...["gateway/node", "gateway/catalog", "gateway/stages", "gateway/own", "gateway/openapi", "gateway/handler.ts"],
    ...["cli/terminal", "cli/command"],
  ],
  [
    "cli/dev",
    ...["src", "src/gen", "src/contract", "src/rpc", "src/rpc/in-process", "src/access/admission.ts"],
    ...["cli/terminal", "cli/command", "cli/roles"],
  ],
  [
    "cli",
    "src",
    "src/contract",
    "cli/terminal",
    "cli/command",
    "cli/nouns",
    "cli/call",
    "cli/client",
    "cli/mcp",
    "cli/completion",
    "cli/new",
    "cli/roles",
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
      .filter((target) => (ALLOWED.has(target) ? rooms.indexOf(target) >= row : !existsSync(target)))
      .map((target) => `${room} -> ${target}`),
  );
  t.same(wrong, []);
});

t.test("docs/architecture.md shows the plan", async (t) => {
  const tables = tablesOf(readFileSync("docs/architecture.md", "utf8"));
  const shown = tables.find(({ header }) => header.join() === "room,may import")?.rows;
  const code = (name: string) => `\`${name}\``;
  t.same(
    shown,
    PLAN.map(([room, ...mayImport]) => [code(room), mayImport.map(code).join(", ") || "nothing"]),
  );
});

t.test("a room imports only what its row allows", async (t) => {
  const allowed = (room: string, to: string) => {
    const names = [room, "package.json", ...(ALLOWED.get(room) ?? [])];
    return names.includes(roomOf(to)) || names.includes(to);
  };
  const broken = [...imports].flatMap(([from, targets]) =>
    targets.filter((to) => !allowed(roomOf(from), to)).map((to) => `${from} -> ${to}`),
  );
  t.same(broken, []);
});

t.test("what a row allows is imported", async (t) => {
  const used = (room: string, target: string) =>
    [...imports].some(
      ([from, targets]) => roomOf(from) === room && targets.some((to) => roomOf(to) === target || to === target),
    );
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
