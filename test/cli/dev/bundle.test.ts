// A bundle tells whether its code has changed, and which files it is made of; an error in one has its place.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as esbuild from "esbuild";
import t from "tap";
import { Bundler } from "../../../cli/dev/bundle.js";

const folder = t.testdir({
  "main.ts": 'import { a } from "./a.js";\nconsole.log(a);\n',
  "a.ts": "export const a = 1;\n",
});
const bundler = new Bundler(esbuild, folder);
t.teardown(() => bundler.close());
const save = (text: string) => writeFileSync(join(folder, "a.ts"), text);

t.test("is written, and knows its files", async (t) => {
  t.same(await bundler.bundle(), { problems: [], changed: true });
  t.ok(existsSync(join(folder, "dist/main.js")));
  t.ok(bundler.includes(join(folder, "a.ts")));
  t.notOk(bundler.includes(join(folder, "b.ts")));
});

t.test("has not changed where only comments have", async (t) => {
  save("// A comment.\nexport const a = 1;\n");
  t.same(await bundler.bundle(), { problems: [], changed: false });
});

t.test("has changed where code has", async (t) => {
  save("export const a = 2;\n");
  t.same(await bundler.bundle(), { problems: [], changed: true });
});

t.test("names the place of an error", async (t) => {
  save("export const a = ;\n");
  const { problems } = await bundler.bundle();
  t.same(problems, [{ file: join(folder, "a.ts"), line: 1, column: 18, length: 1, message: 'Unexpected ";"' }]);
});
