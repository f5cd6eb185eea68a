// npm start and npm test install what package-lock.json names, once, whoever installed it before.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { killGroup } from "./kill-group.js";

/** Loaded as it is: it runs before anything is compiled. */
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
  ["what npm ci leaves", { ...a, ...b, ...c }, { ...a, ...b, ...c }, true],
  ["without an optional package, which is for another system", { ...a, ...b, ...c }, { ...a, ...b }, true],
  ["from a mirror", a, mirrored, true],
  ["nothing", a, undefined, false],
  ["without the packages of development", { ...a, ...b }, a, false],
  ["another version", newer, a, false],
  ["other bytes", rebuilt, a, false],
  ["a package that is not wanted any more", a, { ...a, ...b }, false],
];
for (const [what, wanted, there, installed] of rows) {
  t.test(what, async (t) => {
    const record = there && { node_modules: { ".package-lock.json": lock(there) } };
    const folder = t.testdir({ "package-lock.json": lock({ ...root, ...wanted }), ...record });
    t.equal(isInstalled(folder), installed);
  });
}

t.test("what npm itself has left here, and a lock that has changed since", async (t) => {
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

t.test("SIGTERM ends the installation too", async (t) => {
  const folder = t.testdir({
    "package-lock.json": lock(a),
    "npm.js": 'console.error("ready"); setInterval(() => {}, 1e6)',
  });
  const script = join(process.cwd(), "scripts/setup.mjs");
  const program = `import { setup } from ${JSON.stringify(script)}; await setup(); console.error("not to be reached")`;
  const start = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: folder,
    env: { PATH: process.env.PATH, npm_execpath: join(folder, "npm.js") },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  t.teardown(() => killGroup(start.pid as number));
  let output = "";
  const ready = new Promise<void>((resolve) => {
    start.stderr.setEncoding("utf8").on("data", (text) => {
      output += text;
      if (output.endsWith("ready\n")) resolve();
    });
  });
  await ready;
  const over = once(start, "close", { signal: AbortSignal.timeout(10_000) });
  start.kill("SIGTERM");
  await t.resolves(over, "whoever holds its output has ended");
  t.match(
    output,
    /^Installing dependencies …\nready\nnpm ci failed: it was ended by SIGTERM\. Nothing was started\.\n$/,
  );
});
