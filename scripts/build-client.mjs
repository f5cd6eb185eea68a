// Writes the files for clients into <folder>/client/: the package's `portico/client` with its
// types, and the texts of the runtimes that `portico client` writes into generated clients.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const SOURCE = "src/client";
/** The runtime in TypeScript. Each file comes after the files that it imports. */
const RUNTIME = ["values", "error", "options", "scope", "lines", "token", "node-websocket", "websocket", "client"].map(
  (name) => `${SOURCE}/${name}.ts`,
);
const COPIED = ["portico_client.py", "portico_websocket.py", "portico.go", "portico_websocket.go"].map(
  (name) => `${SOURCE}/${name}`,
);

/** Returns esbuild's record of the output, and its source files. */
export async function buildClient(bundle, folder) {
  const output = `${folder}/client`;
  const { metafile } = await bundle({
    entryPoints: { index: `${SOURCE}/index.ts` },
    outdir: output,
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    metafile: true,
    logLevel: "warning",
  });
  const modules = readdirSync(SOURCE, { recursive: true })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(SOURCE, name));
  const { default: ts } = await import("typescript");
  const compilerOptions = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.NodeNext };
  for (const file of modules) {
    const { outputText } = ts.transpileDeclaration(readFileSync(file, "utf8"), { fileName: file, compilerOptions });
    const declaration = join(output, relative(SOURCE, file).replace(/\.ts$/, ".d.ts"));
    mkdirSync(dirname(declaration), { recursive: true });
    writeFileSync(declaration, outputText);
  }
  writeFileSync(`${output}/runtime.ts`, runtimeText());
  for (const file of COPIED) copyFileSync(file, join(output, relative(SOURCE, file)));
  return { metafile, sources: [...modules, ...COPIED, "scripts/build-client.mjs"] };
}

/** The runtime as one file. Its exports are only the names that `portico/client` exports. */
function runtimeText() {
  const exported = new Set(readFileSync(`${SOURCE}/index.ts`, "utf8").match(/\b\w+\b/g));
  const texts = RUNTIME.map((file) =>
    readFileSync(file, "utf8")
      .replace(/^import [^;]*;\n/gm, "")
      .replace(/^export (?=(?:class|const|function|async function|interface|type) (\w+))/gm, (word, name) =>
        exported.has(name) ? word : "",
      ),
  );
  return texts
    .map((text) => text.trim())
    .join("\n\n")
    .concat("\n");
}
