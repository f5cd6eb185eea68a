// The HTTP port runs another package's code on bytes from unknown clients: llhttp as WebAssembly
// (gateway/node/http1/llhttp.ts). It is bundled only if it is exactly the file that was reviewed.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const PACKAGE = "node_modules/undici";
const FILE = "lib/llhttp/llhttp-wasm.js";
const VERSION = "7.30.2";
const SHA256 = "344f7ae80c983694372d9234584a1261ef5492ab219d6e573e933f5d1c715b00";

/**
 * Checks the parser's file.
 * @param folder of the package
 * @returns what the build records about it
 * @throws {Error} when it is not the expected file
 */
export function checkParser(folder = PACKAGE) {
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const sha256 = createHash("sha256")
    .update(readFileSync(`${folder}/${FILE}`))
    .digest("hex");
  if (version === VERSION && sha256 === SHA256) return { undici: version, file: FILE, sha256 };
  throw new Error(
    `${folder}/${FILE} is not the parser that this build expects: undici ${version} with SHA-256 ${sha256} instead of ` +
      `${VERSION} with ${SHA256}. If undici is newer on purpose, run test/gateway/node/differential/ with TEST_FULL=1 on it, ` +
      "and write the new version and hash into scripts/parser.mjs and package.json.",
  );
}

/**
 * An esbuild plugin that bundles the parser as bytes. The parser is a CommonJS module whose export
 * is a buffer. Without the plugin, esbuild would define a getter for each byte, as if the bytes
 * were exports: 22 MB at each start.
 */
export function parserAsBytes() {
  const load = createRequire(import.meta.url);
  return {
    name: "parser as bytes",
    setup(build) {
      build.onLoad({ filter: /llhttp-wasm\.js$/ }, ({ path }) => ({ contents: load(path), loader: "binary" }));
    },
  };
}
