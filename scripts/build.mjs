// Bundles the program into dist/, unless dist/ was built from exactly these sources. A bundle
// starts several times faster than a tree of modules. Only packages with native code are not
// bundled.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildClient } from "./build-client.mjs";
import { buildWeb } from "./build-web.mjs";
import { checkParser, parserAsBytes } from "./parser.mjs";
import { billOfMaterials, notices, thirdParty } from "./third-party.mjs";

const OUTPUT = "dist";
const ENTRY = "portico.js";
const RECORD = "built-from.json";
const COMMIT = "commit";
const NOTICES = "THIRD-PARTY-NOTICES.txt";
const BILL = "sbom.cdx.json";
const LICENSES = "scripts/licenses";
const ALWAYS = [
  ...["package.json", "package-lock.json", "LICENSE"],
  ...["build", "build-types", "parser", "third-party"].map((name) => `scripts/${name}.mjs`),
];

function hash(files) {
  const sum = createHash("sha256");
  for (const file of files) sum.update(`${file}\0`).update(readFileSync(file));
  return sum.digest("hex");
}

function isFresh() {
  const record = `${OUTPUT}/${RECORD}`;
  if (!existsSync(record)) return false;
  const { inputs, sha256 } = JSON.parse(readFileSync(record, "utf8"));
  return inputs.every(existsSync) && hash(inputs) === sha256;
}

/**
 * Bundles only the program, without its pages, into a folder. The plugins are plugins of esbuild. A
 * test uses one to remove a safeguard.
 */
export async function bundleProgram(bundle, folder, plugins = []) {
  const { metafile } = await bundle({
    entryPoints: { portico: "cli/main.ts", service: "src/kit/index.ts" },
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["sqlite3"],
    inject: ["scripts/globals.mjs"],
    sourcemap: "linked",
    sourcesContent: false,
    // CommonJS packages inside an ESM bundle still call `require` for Node's own modules.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    metafile: true,
    logLevel: "warning",
    plugins: [parserAsBytes(), ...plugins],
  });
  for (const name of readdirSync(folder)) if (name.endsWith(".js")) toAscii(join(folder, name));
  const entry = `${folder}/${ENTRY}`;
  const text = readFileSync(entry, "utf8").replace(/^#!.*\n/, "");
  writeFileSync(entry, `#!/usr/bin/env node\n${text}`);
  chmodSync(entry, 0o755);
  return metafile;
}

export async function build() {
  const llhttp = checkParser();
  if (!isFresh()) await buildAnew(llhttp);
  const commit = commitHere();
  if (commit !== undefined) writeFileSync(`${OUTPUT}/${COMMIT}`, commit);
}

/**
 * The commit of the sources, in the form that `portico --version` prints. Undefined outside of a
 * git checkout.
 */
function commitHere() {
  if (!existsSync(".git")) return undefined;
  const describe = ["describe", "--always", "--abbrev=7", "--dirty=-modified", "--exclude=*"];
  const { status, stdout } = spawnSync("git", describe, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** @param llhttp the parser that is bundled, for the record of the build */
async function buildAnew(llhttp) {
  console.error("Building …");
  const { build: bundle, stop } = await import("esbuild");
  // The new folder is completed next to the old one, so that a failed build leaves the old one
  // unchanged.
  const draft = `${OUTPUT}.${process.pid}.new`;
  const metafile = await bundleProgram(bundle, draft);
  const { buildTypes } = await import("./build-types.mjs");
  const [web, client] = [await buildWeb(bundle, draft), await buildClient(bundle, draft)];
  // esbuild's process would use some 200 MB for as long as this process runs. `npm start` makes
  // this process the server.
  await stop();
  const contained = thirdParty([metafile, web.metafile, client.metafile]);
  writeFileSync(`${draft}/${NOTICES}`, notices(contained));
  writeFileSync(`${draft}/${BILL}`, billOfMaterials(contained, JSON.parse(readFileSync("package.json", "utf8"))));
  const licenses = readdirSync(LICENSES, { recursive: true }).filter((name) => name.endsWith(".txt"));
  const sources = [
    ...[...Object.keys(metafile.inputs), ...buildTypes(draft), ...web.sources, ...client.sources],
    ...licenses.map((name) => join(LICENSES, name)),
  ].filter((file) => !file.startsWith("node_modules/"));
  const inputs = [...new Set([...sources, ...ALWAYS])].sort();
  writeFileSync(`${draft}/${RECORD}`, JSON.stringify({ inputs, sha256: hash(inputs), llhttp }));
  rmSync(OUTPUT, { recursive: true, force: true });
  renameSync(draft, OUTPUT);
}

/**
 * V8 stores a program with two bytes for each character if it has any character beyond Latin-1.
 * esbuild leaves such characters only in comments and regular expressions. A regular expression
 * must be ASCII.
 */
function toAscii(file) {
  const text = readFileSync(file, "utf8");
  const ascii = text.replace(/\P{ASCII}/gu, "?");
  if (ascii !== text) writeFileSync(file, ascii);
}

if (process.argv[1] === import.meta.filename) await build();
