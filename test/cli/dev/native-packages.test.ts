// Packages with native code stay outside of a bundle, and come with it whole.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as esbuild from "esbuild";
import t from "tap";
import { Bundler } from "../../../cli/dev/bundle.js";
import { copyPackages, nativePackages } from "../../../cli/dev/native-packages.js";

const packageOf = (name: string, more: object, files: object) => ({
  "package.json": JSON.stringify({ name, main: "index.js", ...more }),
  "index.js": `module.exports = ${JSON.stringify(name)};`,
  ...files,
});

t.test("a package with native code is copied with what it needs, and others are bundled", async (t) => {
  const folder = t.testdir({
    "main.ts":
      'import "@a/native/index.js";\nimport plain from "plain";\nimport { join } from "path";\nconsole.log(plain, join);\n',
    node_modules: {
      plain: packageOf("plain", {}, {}),
      helper: packageOf("helper", {}, {}),
      "@a": {
        native: packageOf(
          "@a/native",
          { dependencies: { helper: "1", absent: "1" } },
          {
            "binding.gyp": "",
            src: { "native.cc": "" },
            prebuilds: { "linux-x64": { "native.node": "" } },
            // Another version than the one beside it would be found first.
            node_modules: { helper: packageOf("helper", { version: "2" }, { "own.js": "" }) },
          },
        ),
      },
    },
  });
  const found = new Map<string, string>();
  const bundler = new Bundler(esbuild, folder, ["main.ts"], { packages: "bundle", plugins: [nativePackages(found)] });
  t.match(await bundler.bundle(), { problems: [] });
  await bundler.close();
  t.same([...found.keys()], ["@a/native"]);
  copyPackages(found, join(folder, "copied"));
  const files = readdirSync(join(folder, "copied"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, "copied/").length));
  t.same(files.sort(), [
    "@a/native/index.js",
    "@a/native/node_modules/helper/index.js",
    "@a/native/node_modules/helper/own.js",
    "@a/native/node_modules/helper/package.json",
    "@a/native/package.json",
    "@a/native/prebuilds/linux-x64/native.node",
  ]);
});
