// The clients that docs/openapi.md generates from the running gateway can call it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import t from "tap";
import { codeOf } from "../../docs/markdown.js";
import { goProgram, npmPackages, pythonPrograms } from "../../outside/tools.js";
import { deploy, login } from "../deployment.js";

t.setTimeout(600_000);

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const token = await login(deployment.handler, "admin");
const page = readFileSync("docs/openapi.md", "utf8").replaceAll(
  "http://127.0.0.1:8080",
  `http://127.0.0.1:${deployment.gateway.address.port}`,
);

/** The packages that the page installs, and the command that generates a client. */
function commandsOf(installer: "npm" | "pip"): [packages: string[], generate: string] {
  const lines =
    codeOf(page, "sh")
      .find((code) => code.startsWith(`${installer} install `))
      ?.split("\n") ?? [];
  return [lines[0]?.split(" ").slice(2) ?? [], lines[1] ?? ""];
}

/**
 * Runs a command in a folder that also has the programs. Returns its output, whether it succeeds or
 * fails.
 */
async function run(command: string, cwd: string, programs: string, env: Record<string, string> = {}) {
  const path = [programs, process.env.PATH].join(delimiter);
  const child = spawn("/bin/sh", ["-c", command], { cwd, env: { ...env, PATH: path, TOKEN: token } });
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { status, stdout, stderr };
}

t.test("in TypeScript", async (t) => {
  const [packages, generate] = commandsOf("npm");
  const code = codeOf(page, "ts").join();
  const mistaken = code.replace("{ name: ", "{ nam: ");
  const folder = t.testdir({ "client.ts": code, "mistaken.ts": mistaken, "package.json": '{"type":"module"}' });
  symlinkSync(join(npmPackages(...packages), "node_modules"), join(folder, "node_modules"));
  const ours = resolve("node_modules/.bin");
  const generated = await run(generate, folder, join(folder, "node_modules/.bin"));
  t.equal(generated.status, 0, generated.stderr);
  const types = `--types node --typeRoots "${resolve("node_modules/@types")}"`;
  const check = `tsc --noEmit --strict --skipLibCheck --target es2022 --module nodenext ${types} client.ts mistaken.ts`;
  const wrong = (await run(check, folder, ours)).stdout.match(/^\S+\(.*/gm) ?? [];
  t.match(wrong, [/^mistaken.ts.*'nam' does not exist/], "a name that is wrong does not fit its types");
  t.equal(wrong.length, 1, "all else does");
  const { stdout, stderr } = await run("tsx client.ts", folder, ours);
  t.same({ stdout, stderr }, { stdout: "Hello Ada\nHello Grace\n", stderr: "" });
});

/** The module and the version in the page's line `go install`. */
const [, module = "", version = ""] = /go install (\S+)@(\S+)/.exec(page) ?? [];
const goPrograms = goProgram(module, version);

t.test("in Go", { skip: goPrograms === undefined && "there is no Go here" }, async (t) => {
  const [, ...lines] =
    codeOf(page, "sh")
      .find((code) => code.startsWith("go install "))
      ?.trim()
      .split("\n") ?? [];
  const folder = t.testdir({ "main.go": codeOf(page, "go").join(), "go.mod": "module example.com/hello\n\ngo 1.24\n" });
  // The documents of Portico's own services are compiled too, because they have most kinds of
  // names.
  const more = ["auth", "registry"].map(
    (name) =>
      `mkdir ${name} && oapi-codegen -generate types,client -package ${name} -o ${name}/client.go "${resolve("spec", `${name}.json`)}"`,
  );
  // The environment of this machine decides where Go modules come from and where they are stored.
  const go = {
    ...(process.env as Record<string, string>),
    GOFLAGS: `${process.env.GOFLAGS ?? ""} -mod=mod`,
    GOWORK: "off",
  };
  const made = await run([...more, ...lines, "go vet ./..."].join(" && "), folder, dirname(goPrograms!), go);
  t.equal(made.status, 0, made.stderr);
  const { stdout, stderr } = await run("go run .", folder, dirname(goPrograms!), go);
  t.same({ stdout, stderr }, { stdout: "Hello Ada\nHello Grace\n", stderr: "" });
});

const [[requirement = ""], generate] = commandsOf("pip");
const programs = pythonPrograms(requirement);

t.test("in Python", { skip: programs === undefined && "there is no Python here" }, async (t) => {
  const folder = t.testdir({ "client.py": codeOf(page, "python").join() });
  const generated = await run(generate, folder, programs!);
  t.equal(generated.status, 0, generated.stderr + generated.stdout);
  const { stdout, stderr } = await run("python client.py", folder, programs!, { PYTHONPATH: "helloworld-client" });
  t.same({ stdout, stderr }, { stdout: "Hello Ada\nHello Grace\n", stderr: "" });
});
