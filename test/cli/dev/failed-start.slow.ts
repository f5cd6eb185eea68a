// If a new version cannot start, the old one continues to serve, and the output of the new one is
// shown.
import { join } from "node:path";
import t from "tap";
import { call } from "../../support/process.js";
import { edit, newProject, skipTypes, startDev } from "./project.js";

const project = newProject(t.testdir());
skipTypes(project);
const main = join(project, "main.ts");
const dev = await startDev(t, project);
await dev.prints(/greeter started in/);
const greeting = async () => (await call(`${dev.http}/greeter?name=Ada`)).body;

t.test("a version that throws at its start", async (t) => {
  edit(main, "await serve", 'throw new Error("no luck");\nawait serve');
  await dev.prints(
    /✗ greeter is not reloaded; its last version serves on\n {4}The new version ended with exit code 1:\n/,
  );
  await dev.prints(/Error: no luck\n +at .*main\.ts:6:7/);
  t.same(await greeting(), { message: "Hello Ada" });
});

t.test("a version that ends without output", async (t) => {
  edit(main, 'throw new Error("no luck");', "process.exit(3);");
  await dev.prints(/The new version ended with exit code 3/);
  t.same(await greeting(), { message: "Hello Ada" });
});

t.test("a change that is taken back: the running version needs no reload", async (t) => {
  edit(main, "process.exit(3);\n", "");
  await dev.prints(/✓ greeter is good again/);
  t.same(await greeting(), { message: "Hello Ada" });
});

t.test("a version with a name that has no enrolment", async (t) => {
  edit(main, 'name: "greeter"', 'name: "other"');
  await dev.prints(/is not reloaded; its last version serves on/);
  await dev.prints(/no enrolment token/);
  t.same(await greeting(), { message: "Hello Ada" });
});

t.test("a correct version that serves, and later dies", async (t) => {
  edit(main, 'name: "other"', 'name: "greeter"');
  edit(join(project, "greeter.ts"), "`Hello", "name === 'die' ? process.exit(7) : `Hi");
  await dev.prints(/greeter reloaded in/);
  t.same(await greeting(), { message: "Hi Ada" });
  await call(`${dev.http}/greeter?name=die`);
  await dev.prints(/✗ greeter ended with exit code 7. It starts again when one of its files is saved/);
  edit(join(project, "greeter.ts"), "process.exit(7)", "''");
  await dev.prints(/greeter started in/);
  t.same(await greeting(), { message: "Hi Ada" });
});
