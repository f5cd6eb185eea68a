// Bundles the web pages into <folder>/console/. Each file name contains a hash of the content. Each
// file is also stored compressed: it is compressed once, so a slow, good compression pays.
// index.html names the hashed files. files.json lists the files that each page loads first.
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const SOURCE = "gateway/web";
/** Below the name `console`, which no service may have. */
const PUBLIC_PATH = "/console/assets/";

/** Options of esbuild for what runs in the pages. A test bundles a part of them. */
export const BROWSER_OPTIONS = {
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  alias: { "decode-named-character-reference": `./${SOURCE}/explore/entities.ts` },
  legalComments: "none",
  logLevel: "warning",
};

/** Returns esbuild's record of the output, and its source files. */
export async function buildWeb(bundle, folder) {
  const output = `${folder}/console`;
  const { metafile } = await bundle({
    entryPoints: {
      main: `${SOURCE}/main.tsx`,
      style: `${SOURCE}/style.css`,
      icon: `${SOURCE}/icon.svg`,
      // The licence of the font requires a copy of itself wherever the font is.
      "public-sans-license": `${SOURCE}/fonts/public-sans-license.txt`,
    },
    outdir: `${output}/assets`,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".svg": "copy", ".txt": "copy", ".woff2": "file" },
    splitting: true,
    publicPath: PUBLIC_PATH,
    metafile: true,
    ...BROWSER_OPTIONS,
  });
  const files = Object.keys(metafile.outputs).map((file) => basename(file));
  writeFileSync(`${output}/index.html`, page(files));
  writeFileSync(`${output}/files.json`, JSON.stringify(firstLoads(metafile)));
  for (const file of ["index.html", ...files.map((name) => `assets/${name}`)]) compress(`${output}/${file}`);
  return { metafile, sources: [...Object.keys(metafile.inputs), `${SOURCE}/index.html`, "scripts/build-web.mjs"] };
}

function page(files) {
  const hashed = (name) => {
    const [stem, extension] = name.split(".");
    const found = files.filter((file) => file.startsWith(`${stem}-`) && file.endsWith(`.${extension}`));
    if (found.length !== 1) throw new Error(`${SOURCE}/index.html names ${name}, of which there are ${found.length}`);
    return PUBLIC_PATH + found[0];
  };
  return readFileSync(`${SOURCE}/index.html`, "utf8").replace(/\{\{(.+?)\}\}/g, (_, name) => hashed(name));
}

/** For each folder of pages that main.tsx loads on demand: its files. */
function firstLoads({ outputs }) {
  const loads = {};
  for (const [file, { entryPoint, imports }] of Object.entries(outputs)) {
    const part = new RegExp(`^${SOURCE}/([a-z]+)/page\\.tsx$`).exec(entryPoint ?? "")?.[1];
    if (part === undefined) continue;
    const needed = [file, ...imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => path)];
    loads[part] = needed.map((path) => PUBLIC_PATH + basename(path));
  }
  return loads;
}

/** A font is compressed already. */
function compress(file) {
  if (file.endsWith(".woff2")) return;
  const content = readFileSync(file);
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
}
