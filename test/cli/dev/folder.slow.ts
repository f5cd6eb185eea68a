// portico dev runs every service below its folder, including those that are created later, and the
// services in portico.json.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { call, refused } from "../../support/process.js";
import { until } from "../../support/until.js";
import { edit, newProject, skipTypes, startDev } from "./project.js";

const folder = t.testdir({ later: {}, data: {} });
const dev = await startDev(t, folder);

t.test("a second portico dev on the same port opens no store", async (t) => {
  const other = t.testdir();
  const { code, output } = await refused(["dev", other, "--http", new URL(dev.http).host], {});
  t.equal(code, 1);
  t.match(output, /^\S+ is in use; name another address in PORTICO_HTTP .*\n$/);
  t.same(readdirSync(join(other, ".portico")), [".gitignore"]);
});

t.test("reports that there is no service", async (t) => {
  await dev.prints(/There is no service here\. Make one: portico new greeter/);
  t.pass("it says so");
});

t.test("a service that is created later is started", async (t) => {
  const project = newProject(join(folder, "later"));
  skipTypes(project);
  await dev.prints(/greeter started in/);
  t.equal((await call(`${dev.http}/greeter?name=Ada`)).status, 200);
  edit(join(project, "greeter.ts"), "Hello", "Hi");
  await dev.prints(/greeter reloaded in/);
});

t.test("a file outside of the service's folder belongs to the service if it imports the file", async (t) => {
  mkdirSync(join(folder, "shared"));
  const word = join(folder, "shared/word.ts");
  writeFileSync(word, 'export const word = "Good day";\n');
  const file = join(folder, "later/greeter/greeter.ts");
  edit(file, "import {", 'import { word } from "../../shared/word.js";\nimport {');
  edit(file, "`Hi", "word + `");
  await dev.prints(/greeter reloaded in/);
  edit(word, "Good day", "Good night");
  await dev.prints(/greeter reloaded in/);
  t.same((await call(`${dev.http}/greeter?name=Ada`)).body, { message: "Good night Ada" });
});

t.test("a service in portico.json joins when the file is saved", async (t) => {
  const descriptors = join(folder, "data/foreign.binpb");
  execFileSync("node_modules/.bin/buf", ["build", "examples/external-greeter", "-o", descriptors]);
  const child = spawn(process.execPath, ["examples/external-greeter/server.js", "127.0.0.1:0"]);
  t.teardown(() => child.kill());
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  const target = /listening on (\S+)/.exec(line)?.[1];
  const file = join(folder, "portico.json");
  writeFileSync(`${file}.new`, JSON.stringify({ services: [{ name: "foreign", target, descriptors }] }));
  renameSync(`${file}.new`, file);
  await until(async () => (await call(`${dev.http}/foreign/greet?first_name=Ada`)).status === 200);
  t.pass("foreign answers");
});
