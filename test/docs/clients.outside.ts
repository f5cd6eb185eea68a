// The examples of docs/clients.md run, with clients that were generated from a running gateway.
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { openTestGateway, PYTHON_PACKAGES, portico, run } from "../cli/client/test-gateway.js";
import { pythonPrograms } from "../outside/tools.js";
import { codeOf } from "./markdown.js";

t.setTimeout(300_000);
const gateway = await openTestGateway(t);
const env = { PORTICO_URL: gateway.url, PORTICO_TOKEN: gateway.token, GOWORK: "off" };
const SERVICES = ["helloworld", "studio"];
const page = readFileSync("docs/clients.md", "utf8");
const spoken = { status: 0, stdout: "Hello to you\n", stderr: "" };
const printed = { status: 0, stdout: `${"Hello Ada\n".repeat(3)}400 Bad Request\n`, stderr: "" };

t.test("the examples in TypeScript", async (t) => {
  const [main = "", talk = ""] = codeOf(page, "ts");
  const folder = t.testdir({ "main.ts": main, "talk.ts": talk, "package.json": '{"type":"module"}' });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  for (const service of SERVICES) await portico(gateway, "client", service, "--lang", "ts", "--dir", folder);
  const options = [
    "--noEmit",
    "--strict",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--types",
    "node",
    "main.ts",
    "talk.ts",
  ];
  t.match(await run(resolve("node_modules/.bin/tsc"), options, { cwd: folder }), { status: 0, stdout: "" });
  t.same(await run(resolve("node_modules/.bin/tsx"), ["main.ts"], { cwd: folder, env }), printed);
  t.same(await run(resolve("node_modules/.bin/tsx"), ["talk.ts"], { cwd: folder, env }), spoken);
});

const programs = pythonPrograms(...PYTHON_PACKAGES);

t.test("the examples in Python", { skip: programs === undefined && "there is no Python here" }, async (t) => {
  const [main = "", talk = ""] = codeOf(page, "python");
  const folder = t.testdir({ "main.py": main, "talk.py": talk });
  for (const service of SERVICES) await portico(gateway, "client", service, "--lang", "python", "--dir", folder);
  t.match(await run(join(programs!, "mypy"), ["--strict", "main.py", "talk.py"], { cwd: folder }), { status: 0 });
  t.same(await run(join(programs!, "python"), ["main.py"], { cwd: folder, env }), printed);
  t.same(await run(join(programs!, "python"), ["talk.py"], { cwd: folder, env }), spoken);
});

const hasGo = spawnSync("go", ["version"]).status === 0;

t.test("the examples in Go", { skip: !hasGo && "there is no Go here" }, async (t) => {
  const [main = "", talk = ""] = codeOf(page, "go");
  const folder = t.testdir({
    "go.mod": "module example.com/hello\n\ngo 1.24\n",
    "main.go": main,
    talk: { "main.go": talk },
  });
  for (const service of SERVICES)
    await portico(gateway, "client", service, "--lang", "go", "--dir", join(folder, service));
  t.match(await run("go", ["mod", "tidy"], { cwd: folder, env }), { status: 0 });
  t.same(await run("gofmt", ["-l", "."], { cwd: folder }), { status: 0, stdout: "", stderr: "" });
  t.same(await run("go", ["run", "."], { cwd: folder, env }), printed);
  t.same(await run("go", ["run", "./talk"], { cwd: folder, env }), spoken);
});
