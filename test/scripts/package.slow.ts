// The file that `npm pack` makes can be installed in an empty folder, without a compiler and
// without a registry, and runs.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { sampleOf } from "../support/full.js";
import { call, start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";

const MAX_SIZE = 20_000_000;
const LONG = `a folder with spaces, and with ${"a long ".repeat(15)}name`;

/** Every file in the package that does not belong to a bundled dependency. */
const CONTENT = [
  /^(package\.json|README\.md|LICENSE)$/,
  /^dist\/.+\.(js|ts|html|css|svg|json|br|gz|py|go)$/,
  /^dist\/console\/assets\/public-sans-[^/]+\.(woff2|txt)(\.gz|\.br)?$/,
  /^dist\/commit$/,
  /^proto\/.+\.proto$/,
  /^spec\/.+\.json$/,
];

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
  readonly bundled: readonly string[];
}

const packed = pack(temporaryFolder(t));

function pack(folder: string): Packed {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--json", `--pack-destination=${folder}`], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  ) as Packed[];
  return { ...(packed as Packed), filename: join(folder, (packed as Packed).filename) };
}

t.test("the package has the files that run, and its dependencies", async (t) => {
  const { dependencies, exports } = JSON.parse(readFileSync("package.json", "utf8"));
  const own = packed.files.map(({ path }) => path).filter((path) => !path.startsWith("node_modules/"));
  t.same(
    own.filter((path) => !CONTENT.some((pattern) => pattern.test(path))),
    [],
    "no sources, tests or source maps",
  );
  for (const file of Object.values<string | Record<string, string>>(exports).flatMap((target) =>
    Object.values(target),
  )) {
    t.ok(own.includes(file.slice("./".length)), `${file} is there, which it exports`);
  }
  for (const name of Object.keys(dependencies)) t.ok(packed.bundled.includes(name), `${name} comes with it`);
  t.ok(statSync(packed.filename).size < MAX_SIZE, `${statSync(packed.filename).size} bytes`);
});

const INSTALLATIONS: Record<string, { args: (folder: string) => string[]; program: string; root: string }> = {
  "npm install": { args: () => [], program: "node_modules/.bin/portico", root: "node_modules/portico" },
  "npm install --global": {
    args: (folder) => ["--global", `--prefix=${folder}`],
    program: "bin/portico",
    root: "lib/node_modules/portico",
  },
};

for (const [command, { args, program, root }] of sampleOf(Object.entries(INSTALLATIONS), 2)) {
  t.test(`${command} of the package, offline`, async (t) => {
    const folder = temporaryFolder(t);
    const env = withoutCompiler(folder);
    execFileSync("npm", ["install", "--offline", ...args(folder), packed.filename], {
      cwd: folder,
      env,
      stdio: "pipe",
    });
    const portico = (...words: string[]) =>
      execFileSync(join(folder, program), words, { cwd: folder, env, encoding: "utf8" });

    const version = existsSync(".git")
      ? /^portico \d[\d.]+ \([0-9a-f]{7,}(-modified)?, HTTP parser of undici 7\.\d+\.\d+\)\n$/
      : /^portico \d[\d.]+ \(HTTP parser of undici 7\.\d+\.\d+\)\n$/;
    t.match(portico("--version"), version, "with the commit, where it was made in a checkout");
    portico("new", "greeter");
    t.ok(existsSync(join(folder, "greeter/package.json")), "portico new works");
    if (root === "node_modules/portico") t.equal(imported(folder, env), "function function\n", "programs import it");
    await serves(t, join(folder, program), folder);
    t.notOk(existsSync(join(folder, root, "node_modules/sqlite3/build")), "nothing was compiled");
  });
}

t.test("a new service moves elsewhere, installs, passes its tests and its check, and runs", async (t) => {
  const folder = temporaryFolder(t);
  const installation = join(folder, "installation");
  const program = join(installation, "bin/portico");
  // Node's test runner runs no tests if this variable says that it already runs in a test.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = (cwd: string, command: string, ...words: string[]) =>
    execFileSync(command, words, { cwd, env, encoding: "utf8", stdio: "pipe" });
  mkdirSync(installation);
  run(folder, "npm", "install", "--global", `--prefix=${installation}`, packed.filename);
  run(folder, program, "new", "greeter");
  run(join(folder, "greeter"), "npm", "install", "--package-lock-only");
  // A colleague has what git has, elsewhere, and without that installation.
  const project = join(folder, LONG, "greeter");
  mkdirSync(join(folder, LONG));
  renameSync(join(folder, "greeter"), project);
  rmSync(installation, { recursive: true });
  run(project, "npm", "ci");
  t.equal(realpathSync(join(project, "node_modules/portico")), join(realpathSync(project), "node_modules/portico"));
  t.match(run(project, "npm", "test"), /^# fail 0$/m);
  run(project, "npm", "run", "check");
  const own = join(project, "node_modules/.bin/portico");
  const dev = await start(["dev"], { PORTICO_DATA: join(project, ".portico") }, project, [], { program: own });
  t.teardown(() => dev.stop("SIGKILL"));
  const greet = () => call(`${dev.address("HTTP")}/greeter?name=Ada`);
  await until(async () => (await greet()).status === 200);
  t.match((await greet()).body, { message: "Hello Ada" });
  t.equal(await dev.stop(), 0);
});

/** An environment with only Node and npm in PATH, and an empty home folder. */
function withoutCompiler(folder: string): NodeJS.ProcessEnv {
  const programs = join(folder, "programs");
  const home = join(folder, "home");
  for (const place of [programs, home]) mkdirSync(place);
  for (const name of ["node", "npm", "sh"]) {
    symlinkSync(execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim(), join(programs, name));
  }
  return { PATH: programs, HOME: home };
}

/** The output of a program that imports the client and the kit. */
function imported(folder: string, env: NodeJS.ProcessEnv): string {
  const source = `import { Portico } from "portico/client"; import { serve } from "portico/service";
    console.log(typeof Portico, typeof serve)`;
  return execFileSync("node", ["--input-type=module", "--eval", source], { cwd: folder, env, encoding: "utf8" });
}

async function serves(t: Test, program: string, folder: string): Promise<void> {
  const portico = await start(["server"], { PORTICO_DATA: join(folder, "data") }, folder, [], { program });
  t.teardown(() => portico.stop("SIGKILL"));
  const url = portico.address("HTTP");
  t.match(await call(`${url}/helloworld/call?name=Ada`), { status: 200, body: { message: "Hello Ada" } });
  t.equal((await fetch(`${url}/explore`)).status, 200, "its pages are there");
  t.match(portico.output(), /^ +portico login --url/m, "it names itself as it is called");
  t.equal(await portico.stop(), 0);
}
