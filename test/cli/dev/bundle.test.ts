// A bundle has a hash of its code, and a list of its source files. An error has a place.
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

t.test("is written, and lists its files", async (t) => {
  t.match(await bundler.bundle(), { problems: [], hash: /./ });
  t.ok(existsSync(join(folder, ".portico/main.js")));
  t.ok(bundler.includes(join(folder, "a.ts")));
  t.notOk(bundler.includes(join(folder, "b.ts")));
});

t.test("has the same hash if only comments change", async (t) => {
  const before = await bundler.bundle();
  save("// A comment.\nexport const a = 1;\n");
  t.same(await bundler.bundle(), before);
});

t.test("has another hash if the code changes", async (t) => {
  const { hash } = await bundler.bundle();
  save("export const a = 2;\n");
  t.not((await bundler.bundle()).hash, hash);
});

t.test("reports the place of an error", async (t) => {
  save("export const a = ;\n");
  const { problems } = await bundler.bundle();
  t.same(problems, [{ file: join(folder, "a.ts"), line: 1, column: 18, length: 1, message: 'Unexpected ";"' }]);
});
