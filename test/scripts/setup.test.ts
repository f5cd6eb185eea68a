// npm start and npm test install the packages of package-lock.json, once. Packages that npm itself
// has installed count too.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { temporaryFolder } from "../support/temporary.js";
import { killGroup } from "./kill-group.js";

/** Imported as the source, because scripts/setup.mjs runs before anything is compiled. */
const { isInstalled } = (await import(join(process.cwd(), "scripts/setup.mjs"))) as {
  isInstalled: (folder: string) => boolean;
};

const lock = (packages: object) => JSON.stringify({ lockfileVersion: 3, packages });
const root = { "": { name: "x", dependencies: { a: "1" } } };
const a = { "node_modules/a": { version: "1.0.0", resolved: "https://registry.example/a.tgz", integrity: "sha512-a" } };
const b = { "node_modules/b": { version: "2.0.0", integrity: "sha512-b", dev: true } };
const c = { "node_modules/c": { version: "3.0.0", integrity: "sha512-c", optional: true } };
const mirrored = { "node_modules/a": { ...a["node_modules/a"], resolved: "https://mirror.example/a.tgz" } };
const newer = { "node_modules/a": { ...a["node_modules/a"], version: "1.0.1", integrity: "sha512-aa" } };
const rebuilt = { "node_modules/a": { ...a["node_modules/a"], integrity: "sha512-aa" } };

const rows: [what: string, wanted: object, there: object | undefined, installed: boolean][] = [
  ["the packages that npm ci installs", { ...a, ...b, ...c }, { ...a, ...b, ...c }, true],
  ["all packages except an optional one for another system", { ...a, ...b, ...c }, { ...a, ...b }, true],
  ["packages from a mirror", a, mirrored, true],
  ["no packages", a, undefined, false],
  ["no development packages", { ...a, ...b }, a, false],
  ["another version", newer, a, false],
  ["another integrity hash", rebuilt, a, false],
  ["a package that is no longer needed", a, { ...a, ...b }, false],
];
for (const [what, wanted, there, installed] of rows) {
  t.test(`${what}: ${installed ? "installed" : "not installed"}`, async (t) => {
    const record = there && { node_modules: { ".package-lock.json": lock(there) } };
    const folder = t.testdir({ "package-lock.json": lock({ ...root, ...wanted }), ...record });
    t.equal(isInstalled(folder), installed);
  });
}

t.test("packages that npm itself installed count as installed until the lock changes", async (t) => {
  const read = (file: string) => readFileSync(file, "utf8");
  const folder = t.testdir({
    "package-lock.json": read("package-lock.json"),
    node_modules: { ".package-lock.json": read("node_modules/.package-lock.json") },
  });
  t.equal(isInstalled(folder), true);
  const changed = JSON.parse(read("package-lock.json"));
  changed.packages["node_modules/ws"].version = "0.0.0";
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(changed));
  t.equal(isInstalled(folder), false);
});

/**
 * Runs the installation in a temporary folder, with a program in place of npm.
 * @param npm the program's source
 * @param onText receives the output until now, each time it grows
 */
async function install(t: Test, npm: string, onText: (text: string, start: ChildProcess, folder: string) => void) {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "package-lock.json"), lock(a));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "npm.js"), npm);
  const script = join(process.cwd(), "scripts/setup.mjs");
  const program = `import { setup } from ${JSON.stringify(script)}; await setup(); console.error("installed")`;
  const start = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: folder,
    env: { PATH: folder, npm_execpath: join(folder, "npm.js") },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  t.teardown(() => killGroup(start.pid as number));
  let output = "";
  start.stderr.setEncoding("utf8").on("data", (text) => {
    output += text;
    onText(output, start, folder);
  });
  const [code] = await once(start, "close", { signal: AbortSignal.timeout(20_000) });
  return { code, output: output.replace(/\(\d+:\d\d\)/g, "(time)") };
}

t.test("SIGTERM ends the installation, and the error names the signal", async (t) => {
  const { output } = await install(t, "setInterval(() => {}, 1e6)", (text, start) => {
    if (text.endsWith("\n")) start.kill("SIGTERM");
  });
  const message = "npm ci failed: it was ended by SIGTERM. Nothing was started.\n";
  t.equal(output, `Installing dependencies (once): fetching packages (time)\n${message}`);
});

/** A program in place of npm that ends when the file `done` exists. */
const UNTIL_DONE = 'import { existsSync } from "node:fs"; setInterval(() => existsSync("done") && process.exit(), 20)';

t.test("the installation shows the stage of npm's work", async (t) => {
  const { code, output } = await install(t, UNTIL_DONE, (text, _start, folder) => {
    if (text.includes("setting up")) writeFileSync(join(folder, "done"), "");
    else mkdirSync(join(folder, "node_modules/sqlite3"), { recursive: true });
  });
  t.equal(code, 0);
  const stages = ["fetching packages", "unpacking and setting up packages"];
  t.equal(output, `${stages.map((stage) => `Installing dependencies (once): ${stage} (time)\n`).join("")}installed\n`);
});

t.test("without a compiler the error says what is missing and how to install it", async (t) => {
  const { code, output } = await install(t, 'console.error("gyp ERR! not ok"); process.exit(1)', () => {});
  t.equal(code, 1);
  t.match(output, "gyp ERR! not ok\nnpm ci failed: it ended with 1. Nothing was started.\n");
  t.match(output, "Missing for that: make, a C++ compiler, Python 3.\n");
  t.match(output, /Debian, Ubuntu +apt-get install make g\+\+ python3/);
});

t.test("any other failure of npm is shown as it is", async (t) => {
  const { output } = await install(t, 'console.error("npm error 404"); process.exit(1)', () => {});
  t.match(output, "npm error 404\n");
  t.notMatch(output, "Missing");
});

t.test("on a terminal the progress is one line that is overwritten", async (t) => {
  const { Progress } = (await import(join(process.cwd(), "scripts/progress.mjs"))) as {
    Progress: new (output: object, task: string) => { stage(stage: string): void; end(): void };
  };
  const written: string[] = [];
  const progress = new Progress({ isTTY: true, columns: 20, write: (text: string) => written.push(text) }, "Task");
  progress.stage("one");
  progress.stage("another, a longer one");
  progress.end();
  t.same(written, ["\r\u001b[KTask: one (0:00)", "\r\u001b[KTask: another, a lo", "\r\u001b[K"]);
});
