// Bundles the program into dist/, unless dist/ was built from these very sources. A bundle starts several times
// faster than a tree of modules; only what has native code stays outside of it.
import { createHash } from "node:crypto";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const ENTRY = "dist/portico.js";
const RECORD = "dist/built-from.json";
const ALWAYS = ["package-lock.json", "scripts/build.mjs"];

function hash(files) {
  const sum = createHash("sha256");
  for (const file of files) sum.update(`${file}\0`).update(readFileSync(file));
  return sum.digest("hex");
}

function isFresh() {
  if (!existsSync(ENTRY) || !existsSync(RECORD)) return false;
  const { inputs, sha256 } = JSON.parse(readFileSync(RECORD, "utf8"));
  return inputs.every(existsSync) && hash(inputs) === sha256;
}

export async function build() {
  if (isFresh()) return;
  const { build: bundle } = await import("esbuild");
  rmSync("dist", { recursive: true, force: true });
  const { metafile } = await bundle({
    entryPoints: { portico: "src/cli/main.ts" },
    outdir: "dist",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["sqlite3"],
    sourcemap: "linked",
    sourcesContent: false,
    // CommonJS packages inside an ESM bundle still call require for Node's own modules.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    metafile: true,
    logLevel: "warning",
  });
  const inputs = [...Object.keys(metafile.inputs).filter((file) => !file.startsWith("node_modules/")), ...ALWAYS];
  const text = readFileSync(ENTRY, "utf8").replace(/^#!.*\n/, "");
  writeFileSync(ENTRY, `#!/usr/bin/env node\n${text}`);
  chmodSync(ENTRY, 0o755);
  writeFileSync(RECORD, JSON.stringify({ inputs, sha256: hash(inputs) }));
}

if (process.argv[1] === import.meta.filename) await build();
