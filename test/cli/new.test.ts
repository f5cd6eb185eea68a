// `portico new` creates a complete folder or nothing, and never changes an existing folder.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t, { type Test } from "tap";
import { filesOf } from "../../cli/new/files.js";
import { PACKED } from "../../cli/new/pack.js";
import { EXIT } from "../../cli/terminal/exit.js";
import { portico } from "./command-line.js";

/** Changes to an empty folder. */
function emptyFolder(t: Test): string {
  const before = process.cwd();
  const folder = join(t.testdir({ work: {} }), "work");
  process.chdir(folder);
  t.teardown(() => process.chdir(before));
  return folder;
}

/**
 * An environment in which `npm` is a script. The real one takes seconds to pack;
 * test/scripts/package.slow.ts runs it.
 */
function withNpm(t: Test, script: string): NodeJS.ProcessEnv {
  const npm = join(t.testdirName, "npm");
  writeFileSync(npm, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { PATH: `${t.testdirName}:/usr/bin:/bin` };
}

t.test("creates the folder, and prints the next steps", async (t) => {
  const checkout = process.cwd();
  const folder = emptyFolder(t);
  const env = withNpm(t, `echo "$2" > ${PACKED}`);
  const { exit, stdout, stderr } = await portico(["new", "greeter"], { env });
  t.same({ exit, stderr }, { exit: EXIT.ok, stderr: "" });
  t.same(readdirSync(folder), ["greeter"], "and leaves nothing beside it");
  for (const [file, text] of filesOf("greeter")) t.equal(readFileSync(join("greeter", file), "utf8"), text, file);
  t.match(stdout, `${join(folder, "greeter")} is a service`);
  const { dependencies } = JSON.parse(readFileSync("greeter/package.json", "utf8"));
  t.same(dependencies, { portico: `file:vendor/${PACKED}` }, "it depends on a file in its own folder");
  t.equal(readFileSync(join("greeter/vendor", PACKED), "utf8"), `${checkout}\n`, "which is packed from this Portico");
});

t.test("a service in Python or Go needs no npm", async (t) => {
  const folder = emptyFolder(t);
  for (const lang of ["python", "go"]) {
    const { exit, stdout } = await portico(["new", `in${lang}`, "--lang", lang], { env: { PATH: "/nonexistent" } });
    t.equal(exit, EXIT.ok);
    t.match(stdout, new RegExp(`in${lang} is a service[^]*and in another terminal:[^]*portico dev\n\nand in a third`));
  }
  t.same(readdirSync(folder), ["ingo", "inpython"]);
  t.equal((await portico(["new", "greeter", "--lang", "cobol"])).exit, EXIT.usage);
});

const broken: [what: string, env: (t: Test) => NodeJS.ProcessEnv, said: RegExp][] = [
  ["fails", (t) => withNpm(t, "echo 'npm error ENOSPC' >&2; exit 1"), /cannot pack.*\nnpm error ENOSPC/],
  ["is absent", () => ({ PATH: "/nonexistent" }), /no npm in PATH/],
];
for (const [what, env, said] of broken) {
  t.test(`creates nothing when npm ${what}`, async (t) => {
    const folder = emptyFolder(t);
    const { exit, stdout, stderr } = await portico(["new", "greeter"], { env: env(t) });
    t.same({ exit, stdout }, { exit: EXIT.failed, stdout: "" });
    t.match(stderr, said);
    t.same(readdirSync(folder), []);
  });
}

const names: [name: string, said: RegExp][] = [
  ["Greeter", /lower-case/],
  ["my-greeter", /lower-case/],
  ["9lives", /starting with a letter/],
  ["", /1 to 63/],
  ["a".repeat(64), /1 to 63/],
  ["../greeter", /lower-case/],
  ["/tmp/greeter", /lower-case/],
  ["\u001b[31mred", /^The name "\\u001b/],
  ["auth", /taken by Portico/],
  ["console", /taken by Portico/],
  ["helloworld", /taken by Portico/],
];
for (const [name, said] of names) {
  t.test(`rejects the name ${JSON.stringify(name.slice(0, 20))}`, async (t) => {
    const folder = emptyFolder(t);
    const { exit, stdout, stderr } = await portico(["new", name]);
    t.same({ exit, stdout }, { exit: EXIT.usage, stdout: "" });
    t.match(stderr, said);
    t.same(readdirSync(folder), []);
  });
}

const inTheWay: [what: string, make: () => void][] = [
  ["a folder", () => mkdirSync("greeter")],
  ["a file", () => writeFileSync("greeter", "mine")],
  ["a link to nowhere", () => symlinkSync("/nonexistent", "greeter")],
];
for (const [what, make] of inTheWay) {
  t.test(`refuses and does not change ${what} of that name`, async (t) => {
    const folder = emptyFolder(t);
    make();
    const { exit, stdout, stderr } = await portico(["new", "greeter"]);
    t.same({ exit, stdout }, { exit: EXIT.failed, stdout: "" });
    t.match(stderr, /greeter is there already/);
    t.same(readdirSync(folder), ["greeter"]);
    t.notOk(existsSync("greeter/package.json"));
  });
}

t.test("leaves no file behind when the disk is full", async (t) => {
  const program = resolve("dist/portico.js");
  const folder = emptyFolder(t);
  // Files cannot have content: the first write fails, as on a full disk.
  const limited = `trap '' XFSZ; ulimit -f 0; exec '${process.execPath}' '${program}' new greeter`;
  const { status, stderr } = spawnSync("bash", ["-c", limited], { encoding: "utf8" });
  t.equal(status, EXIT.failed);
  t.match(stderr, /EFBIG/);
  t.same(readdirSync(folder), []);
});

t.test("accepts a keyword of the .proto language as a name", async (t) => {
  const folder = t.testdir();
  const words = ["message", "service", "option", "string", "constructor"];
  for (const word of words)
    writeFileSync(join(folder, `${word}.proto`), filesOf(word).get(`proto/${word}.proto`) ?? "");
  const built = execFileSync("node_modules/.bin/buf", ["build", folder, "-o", "-#format=json"], { encoding: "utf8" });
  const { file } = JSON.parse(built) as { file: { package: string }[] };
  t.same(file.map((one) => one.package).sort(), words.sort());
});
