// A built folder runs modules of both kinds, with the names that Node gives them.
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import * as esbuild from "esbuild";
import t from "tap";
import { Bundler } from "../../../cli/dev/bundle.js";
import { DIST, deployment } from "../../../cli/dev/deployment.js";
import { temporaryFolder } from "../../support/temporary.js";

t.test("CommonJS packages know where they are, and modules may have such names of their own", async (t) => {
  const folder = temporaryFolder(t);
  const source = t.testdir({
    "main.ts": `import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import where from "common";
const require = createRequire(import.meta.url);
const __dirname = dirname(fileURLToPath(import.meta.url));
console.log(where(), __dirname, require("node:os").EOL === "\\n");
`,
    node_modules: {
      common: {
        "package.json": '{"name":"common","main":"index.js"}',
        "index.js": 'const name = "path"; module.exports = () => require(name).join(__dirname, "x");',
      },
    },
  });
  const { options, write } = deployment(source);
  const bundler = new Bundler(esbuild, source, ["main.ts"], options);
  t.match(await bundler.bundle(), { problems: [] });
  await bundler.close();
  write();
  t.same(readdirSync(join(source, DIST)).sort(), [
    ".dockerignore",
    "Dockerfile",
    "main.js",
    "main.js.map",
    "package.json",
  ]);
  cpSync(join(source, DIST), folder, { recursive: true });
  const printed = execFileSync(process.execPath, ["main.js"], { cwd: folder, encoding: "utf8", env: {} });
  t.equal(printed, `${folder}/x ${folder} true\n`);
});
