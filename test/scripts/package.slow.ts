// The file that `npm pack` makes can be installed in an empty folder, without a compiler and
// without a registry, and runs.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import t, { type Test } from "tap";
import { sampleOf } from "../support/full.js";
import { call, start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";

/**
 * Bytes, a little more than today. docs/installing.md says where they go. Before you raise a
 * number, look at what has come in.
 */
const MAX_SIZES = { packed: 16_000_000, unpacked: 46_000_000, own: 10_500_000, ownFile: 1_100_000 };
const LONG = `a folder with spaces, and with ${"a long ".repeat(15)}name`;

/** Every file in the package that does not belong to a bundled dependency. */
const CONTENT = [
  /^(package\.json|README\.md|LICENSE)$/,
  /^dist\/.+\.(js|ts|html|css|svg|json|br|gz|py|go)$/,
  /^dist\/console\/assets\/public-sans-[^/]+\.(woff2|txt)(\.gz|\.br)?$/,
  /^dist\/(commit|THIRD-PARTY-NOTICES\.txt)$/,
  /^proto\/.+\.proto$/,
  /^spec\/.+\.json$/,
];

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
  readonly bundled: readonly string[];
}

const packed = pack(temporaryFolder(t));

function pack(folder: string, env = process.env, cwd = "."): Packed {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--json", `--pack-destination=${folder}`], {
      cwd,
      env,
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
});

t.test("the package is no larger than it was", async (t) => {
  const own = packed.files.filter(({ path }) => !path.startsWith("node_modules/"));
  const sizes = {
    packed: packed.size,
    unpacked: packed.unpackedSize,
    own: own.reduce((sum, { size }) => sum + size, 0),
    ownFile: Math.max(...own.map(({ size }) => size)),
  };
  for (const [what, max] of Object.entries(MAX_SIZES)) {
    const size = sizes[what as keyof typeof sizes];
    t.ok(size <= max && size > max * 0.85, `${what}: ${size} bytes of ${max}`);
  }
});

t.test("the bill of materials has every package that is packed", async (t) => {
  const { components } = JSON.parse(readFileSync("dist/sbom.cdx.json", "utf8"));
  const listed = new Set(components.map(({ purl }: { purl?: string }) => purl));
  const manifests = packed.files.map(({ path }) => path).filter((path) => PACKAGE.test(path));
  t.ok(manifests.length >= packed.bundled.length);
  const purls = manifests.map((path) => {
    const { name, version } = JSON.parse(readFileSync(path, "utf8"));
    return `pkg:npm/${name.replace("@", "%40")}@${version}`;
  });
  t.same(
    purls.filter((purl) => !listed.has(purl)),
    [],
  );
});

/** The manifest of a package that is packed. */
const PACKAGE = /^(?:.+\/)?node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/;

t.test("the same sources give the same package, whoever packs them, where and when", async (t) => {
  const folder = join(temporaryFolder(t), LONG);
  const modules = join(folder, "node_modules");
  for (const name of readdirSync(".")) {
    if (!LEFT_OUT.test(name)) cpSync(name, join(folder, name), { recursive: true, verbatimSymlinks: true });
  }
  // The same files, or, in another file system, copies.
  execFileSync("sh", ["-c", 'cp -al node_modules "$0" 2>&- || { rm -rf "$0" && cp -a node_modules "$0"; }', modules]);
  if (existsSync(".git")) {
    const commit = execFileSync("git", ["rev-parse", "--absolute-git-dir"], { encoding: "utf8" });
    writeFileSync(join(folder, ".git"), `gitdir: ${commit}`);
  }
  for (const file of ["README.md", "spec/auth.json"]) chmodSync(join(folder, file), 0o600);
  const before = process.umask(0o077);
  t.teardown(() => process.umask(before));
  const env = { ...process.env, LC_ALL: "sv_SE.UTF-8", TZ: "Pacific/Kiritimati", GIT_OPTIONAL_LOCKS: "0" };
  const other = pack(temporaryFolder(t), env, folder);
  t.same(sumsOf(other), sumsOf(packed), "each file");
  t.equal(sum(readFileSync(other.filename)), sum(readFileSync(packed.filename)), "the package");
});

/** What is not needed to build, and what is written anew or shared. */
const LEFT_OUT = /^(?:\.git|\.tap|dist.*|node_modules|test-artifacts|target)$/;

function sumsOf({ filename }: Packed): Record<string, string> {
  const list = execFileSync("tar", ["--list", "--verbose", "--utc", "--file", filename], { encoding: "utf8" });
  const unpacked = join(filename, "..", "unpacked");
  mkdirSync(unpacked);
  execFileSync("tar", ["--extract", "--file", filename, "--directory", unpacked, "package/dist", "package/spec"]);
  const sums = readdirSync(unpacked, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    return entry.isFile() ? [[relative(unpacked, path), sum(readFileSync(path))]] : [];
  });
  return { ...Object.fromEntries(list.split("\n").map((line) => [line, ""])), ...Object.fromEntries(sums) };
}

function sum(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

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
