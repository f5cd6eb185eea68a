// Imports go one way, so that each part can be read, tested and replaced without the others.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import t from "tap";

const STATEMENT = /^(?:import|export)\s+(type\s)?[^;]*?from\s+"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm;

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

function importsOf(file: string): Import[] {
  return [...readFileSync(file, "utf8").matchAll(STATEMENT)].map(([, type, target, lazy]) => ({
    from: file,
    to: normalize(join(dirname(file), (target ?? lazy ?? "").replace(/\.js$/, ".ts"))),
    typeOnly: type !== undefined,
  }));
}

const files = ["src", "services", "gateway", "cli"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name)),
);
const imports = files.flatMap(importsOf);

t.ok(imports.length > 50, "the imports were found");

const WIRE = ["src/wire/reader.ts", "src/wire/writer.ts"];

const forbidden: [rule: string, broken: (edge: Import) => boolean][] = [
  [
    "src/gen imports nothing of ours but the reader and the writer that are made for it",
    ({ from, to }) => from.startsWith("src/gen/") && !to.startsWith("src/gen/") && !WIRE.includes(to),
  ],
  ["services never import the gateway", ({ from, to }) => from.startsWith("services/") && to.startsWith("gateway/")],
  ["the gateway never imports services", ({ from, to }) => from.startsWith("gateway/") && to.startsWith("services/")],
  [
    "only the command line composes services and gateway",
    ({ from, to }) => from.startsWith("src/") && /^(services|gateway)\//.test(to),
  ],
  ["nothing imports the command line", ({ from, to }) => !from.startsWith("cli/") && to.startsWith("cli/")],
];

for (const [rule, broken] of forbidden) {
  t.same(
    imports.filter(broken).map(({ from, to }) => `${from} -> ${to}`),
    [],
    rule,
  );
}

t.test("generated code reads and writes by src/wire, not by the library", async (t) => {
  const generated = files.filter(
    (file) => file.startsWith("src/gen/") && /\bBinaryWriter\b/.test(readFileSync(file, "utf8")),
  );
  t.ok(generated.length > 10, "the generated files were found");
  t.same(
    generated.filter((file) => !WIRE.every((wire) => imports.some(({ from, to }) => from === file && to === wire))),
    [],
  );
  t.same(
    generated.filter((file) => /Buffer\.from\(\w+\.encode\(/.test(readFileSync(file, "utf8"))),
    [],
    "nor copies",
  );
});

t.test("no circles", async (t) => {
  const next = new Map<string, string[]>();
  for (const { from, to, typeOnly } of imports) if (!typeOnly) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    else if (!done.has(file)) for (const target of next.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  t.same(circles, []);
});
