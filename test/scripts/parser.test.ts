// The build accepts the parser of the HTTP port only from one version of one package, and refuses
// any other file.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import t, { type Test } from "tap";

const { checkParser, parserAsBytes } = (await import(resolve("scripts/parser.mjs"))) as {
  checkParser(folder?: string): { undici: string; sha256: string };
  parserAsBytes(): Plugin;
};

const FILE = "lib/llhttp/llhttp-wasm.js";

/** Makes a copy of the package's files that the build checks. */
function copied(t: Test): string {
  const folder = t.testdir();
  mkdirSync(`${folder}/lib/llhttp`, { recursive: true });
  for (const file of ["package.json", FILE]) cpSync(`node_modules/undici/${file}`, `${folder}/${file}`);
  return folder;
}

t.test("the installed parser is the expected one, and the build records its version and hash", async (t) => {
  const { undici, sha256 } = checkParser();
  t.equal(
    undici,
    JSON.parse(readFileSync("package.json", "utf8")).devDependencies.undici,
    "the very version is pinned",
  );
  t.match(sha256, /^[0-9a-f]{64}$/);
  t.same(checkParser(copied(t)), checkParser());
});

t.test("a parser with one byte changed is refused", async (t) => {
  const folder = copied(t);
  writeFileSync(`${folder}/${FILE}`, readFileSync(`${folder}/${FILE}`, "utf8").replace("A", "B"));
  t.throws(() => checkParser(folder), { message: /is not the parser that this build expects: undici .* with SHA-256/ });
});

t.test("another version of the package is refused", async (t) => {
  const folder = copied(t);
  writeFileSync(`${folder}/package.json`, JSON.stringify({ version: "7.30.3" }));
  t.throws(() => checkParser(folder), { message: /undici 7\.30\.3 .* instead of 7\.30\.2/ });
});

t.test("the parser is bundled as bytes, without a getter for each byte", async (t) => {
  const stdin = { contents: 'export { default } from "undici/lib/llhttp/llhttp-wasm.js"', resolveDir: "." };
  const { outputFiles } = await build({
    ...{ stdin, bundle: true, write: false, format: "esm", platform: "node" },
    plugins: [parserAsBytes()],
  });
  const text = outputFiles[0]?.text ?? "";
  t.match(text, /AGFzbQ/, "the first bytes of WebAssembly, in base64");
  t.notMatch(text, /__copyProps/);
});
