// If a new version cannot start, the old one continues to serve, and the output of the new one is
// shown. What a handler throws is shown with its place, and a page that may not call.
import { join } from "node:path";
import t from "tap";
import { call } from "../../support/process.js";
import { edit, newProject, skipTypes, startDev } from "./project.js";

const project = newProject(t.testdir());
skipTypes(project);
const main = join(project, "main.ts");
const dev = await startDev(t, project);
await dev.prints(/greeter started in/);
const THROWS = `function fail(): string {
  throw new TypeError("no such colour");
}

/** The handlers`;

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

t.test("a handler that throws is shown with its place, and the caller gets none of it", async (t) => {
  edit(join(project, "greeter.ts"), "name === 'die' ? ''", "name === 'throw' ? fail()");
  edit(join(project, "greeter.ts"), "/** The handlers", THROWS);
  await dev.prints(/greeter reloaded in/);
  t.match(await call(`${dev.http}/greeter?name=throw`), { status: 500, body: { Detail: "Internal error" } });
  const [shown] = await dev.prints(
    /✗ greeter:Greeter\.Call threw\. The caller got "Internal error"\n {4}greeter\.ts:5:9: TypeError: no such colour\n(?:.*\n)*?\n(?: +at .*\n)+/,
  );
  t.match(shown, /5 │ +throw new TypeError\("no such colour"\);\n/);
  t.match(shown, /at fail \(greeter\.ts:5:9\)\n +at .*call \(greeter\.ts:\d+:\d+\)\n$/, "the service's own frames");
});

t.test("what a handler throws need not be an error", async (t) => {
  edit(join(project, "greeter.ts"), 'throw new TypeError("no such colour")', 'throw "blue"');
  await dev.prints(/greeter reloaded in/);
  await call(`${dev.http}/greeter?name=throw`);
  await dev.prints(/✗ greeter:Greeter\.Call threw\. .*\n {4}It threw "blue", which has no stack: throw an Error\n/);
  t.pass("it is shown");
});

t.test("a page of another origin is shown once, with what lets it call", async (t) => {
  const headers = { origin: "http://127.0.0.1:3000" };
  for (let i = 0; i < 2; i++) t.equal((await call(`${dev.http}/greeter?name=Ada`, undefined, headers)).status, 403);
  await dev.prints(/✗ A page of http:\/\/127\.0\.0\.1:3000 may not call\..* PORTICO_CORS=http:\/\/127\.0\.0\.1:3000\n/);
  await call(`${dev.http}/greeter?name=Ada`, undefined, { origin: "https://other.example" });
  await dev.prints(/A page of https:\/\/other\.example may not/);
  t.equal(dev.output().split("A page of http://127").length, 2);
});
