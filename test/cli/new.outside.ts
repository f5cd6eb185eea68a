// The services of cli/new/python.ts and cli/new/go.ts, from nothing to the first call: `portico
// new`, the commands of its README, and a call through `portico dev`.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t, { type Test } from "tap";
import { pythonPrograms } from "../outside/tools.js";
import { printedBy } from "../support/printed.js";
import { administrator, call } from "../support/process.js";
import { until } from "../support/until.js";
import { startDev } from "./dev/project.js";

t.setTimeout(300_000);

type Words = readonly [string, ...string[]];

interface Language {
  /** Commands that build the service and run its tests, and the command that starts it. */
  commands(project: string): { readonly tests: readonly Words[]; readonly serve: Words } | undefined;
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  python: {
    commands(project) {
      const requirements = readFileSync(join(project, "requirements.txt"), "utf8").trim().split("\n");
      const programs = pythonPrograms(...requirements);
      if (programs === undefined) return undefined;
      const python = join(programs, "python");
      return { tests: [[python, "-m", "unittest"]], serve: [python, "service.py"] };
    },
  },
  go: {
    commands() {
      if (spawnSync("go", ["version"]).status !== 0) return undefined;
      const build: Words[] = [
        ["go", "generate"],
        ["go", "mod", "tidy"],
        ["go", "build", "."],
      ];
      return { tests: [...build, ["go", "test", "./..."]], serve: ["./greeter"] };
    },
  },
};

for (const [language, { commands }] of Object.entries(LANGUAGES)) {
  t.test(`a new service in ${language}`, async (t) => {
    const folder = t.testdir();
    execFileSync(process.execPath, [resolve("dist/portico.js"), "new", "greeter", "--lang", language], { cwd: folder });
    const project = join(folder, "greeter");
    const found = commands(project);
    if (found === undefined) return t.comment(`there is no ${language} here`);
    // buf is a program of this repository. Go looks for no workspace in the folders above.
    const env = { ...process.env, PATH: `${process.env.PATH}:${resolve("node_modules/.bin")}`, GOWORK: "off" };
    for (const [program, ...words] of found.tests) {
      const { status, stdout, stderr } = spawnSync(program, words, { cwd: project, env, encoding: "utf8" });
      t.equal(status, 0, `${program} ${words.join(" ")}: ${stdout}${stderr}`);
    }
    const [program, ...words] = found.serve;
    const service = spawn(program, [...words, "127.0.0.1:0"], { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
    t.teardown(() => service.kill("SIGKILL"));
    const [, port] = await printedBy(service, language).prints(/listening on port (\d+)/);
    await calls(t, project, `127.0.0.1:${port}`);
    service.kill("SIGTERM");
    await until(() => service.exitCode !== null || service.signalCode !== null);
    t.equal(service.exitCode, 0, "it stops in good order");
  });
}

/** Calls the service by the configuration in its folder, at another port. */
async function calls(t: Test, project: string, target: string): Promise<void> {
  const file = join(project, "portico.json");
  writeFileSync(file, readFileSync(file, "utf8").replace("127.0.0.1:9000", target));
  const { http, output } = await startDev(t, project);
  const greet = (query: string, headers: Record<string, string> = {}) =>
    call(`${http}/greeter${query}`, undefined, headers);
  await until(async () => (await greet("?name=Ada")).status === 200);
  t.notMatch(output(), /There is no service here/);
  t.match(await greet("?name=Ada"), { body: { message: "Hello Ada", account: "" } });
  const admin = await administrator(http, join(project, ".portico"));
  t.match(await greet("?name=Ada", admin), { body: { message: "Hello Ada", account: "admin" } });
  const forged = await greet("?name=Ada", { "x-portico-account": "admin" });
  t.match(forged, { body: { account: "" } }, "no caller says who it is");
  t.match(await greet(""), { status: 400, body: { Detail: "name: must not be empty" } });
  const stream = await fetch(`${http}/greeter/repeat?name=Ada`, { headers: { "grpc-timeout": "1500m" } });
  const lines = (await stream.text()).trim().split("\n");
  t.match(lines[0], /"Hello Ada"/);
  t.match(lines.at(-1), /"Code":504/, "the deadline ends the stream");
}
