// The examples of docs/clients.md run with clients that were written from a running door.
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { openDoor, portico, run } from "../cli/client/door.js";
import { pythonPrograms } from "../outside/tools.js";
import { codeOf } from "./markdown.js";

t.setTimeout(300_000);
const door = await openDoor(t);
const env = { PORTICO_URL: door.url, PORTICO_TOKEN: door.token, GOWORK: "off" };
const page = readFileSync("docs/clients.md", "utf8");
const printed = { status: 0, stdout: `${"Hello Ada\n".repeat(3)}400 Bad Request\n`, stderr: "" };

t.test("in TypeScript", async (t) => {
  const folder = t.testdir({ "main.ts": codeOf(page, "ts").join(), "package.json": '{"type":"module"}' });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  await portico(door, "client", "helloworld", "--lang", "ts", "--dir", folder);
  const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", "main.ts"];
  t.match(await run(resolve("node_modules/.bin/tsc"), options, { cwd: folder }), { status: 0, stdout: "" });
  t.same(await run(resolve("node_modules/.bin/tsx"), ["main.ts"], { cwd: folder, env }), printed);
});

const programs = pythonPrograms("httpx==0.28.1", "ruff==0.17.6", "mypy==2.4.1");

t.test("in Python", { skip: programs === undefined && "there is no Python here" }, async (t) => {
  const folder = t.testdir({ "main.py": codeOf(page, "python").join() });
  await portico(door, "client", "helloworld", "--lang", "python", "--dir", folder);
  t.match(await run(join(programs!, "mypy"), ["--strict", "main.py"], { cwd: folder }), { status: 0 });
  t.same(await run(join(programs!, "python"), ["main.py"], { cwd: folder, env }), printed);
});

const hasGo = spawnSync("go", ["version"]).status === 0;

t.test("in Go", { skip: !hasGo && "there is no Go here" }, async (t) => {
  const folder = t.testdir({ "go.mod": "module example.com/hello\n\ngo 1.24\n" });
  writeFileSync(join(folder, "main.go"), codeOf(page, "go").join());
  await portico(door, "client", "helloworld", "--lang", "go", "--dir", join(folder, "helloworld"));
  t.same(await run("gofmt", ["-l", "."], { cwd: folder }), { status: 0, stdout: "", stderr: "" });
  t.same(await run("go", ["run", "."], { cwd: folder, env }), printed);
});
