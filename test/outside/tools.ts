/**
 * Third-party programs for tests, each in the version that was tried. They are installed once per
 * machine, and are not dependencies of this package.
 */
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/**
 * The folder of the programs of Python packages. Without Python it is undefined, and a notice is
 * printed.
 */
export function pythonPrograms(...requirements: readonly string[]): string | undefined {
  const folder = folderOf(requirements);
  const programs = join(folder, "bin");
  if (isInstalled(folder)) return programs;
  if (spawnSync("python3", ["-m", "venv", folder]).status !== 0) {
    console.error(`note: ${requirements.join(" ")} was not run: there is no python3 with venv here`);
    return undefined;
  }
  install(folder, join(programs, "python"), ["-m", "pip", "install", "--quiet", ...requirements]);
  return programs;
}

/** A folder with npm packages in its node_modules. */
export function npmPackages(...requirements: readonly string[]): string {
  const folder = folderOf(requirements);
  if (isInstalled(folder)) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private":true,"type":"module"}');
  install(folder, "npm", ["install", "--no-fund", "--no-audit", "--loglevel=error", ...requirements]);
  return folder;
}

/**
 * The folder of an npm package's own files, without its dependencies. It suits packages that ship a
 * bundle for browsers, whose dependencies would take minutes to install.
 */
export function npmFiles(requirement: string): string {
  const folder = folderOf([requirement]);
  const files = join(folder, "package");
  if (isInstalled(folder)) return files;
  mkdirSync(folder, { recursive: true });
  const script = 'npm pack --silent "$1" > archive && tar -xzf "$(cat archive)"';
  install(folder, "sh", ["-c", script, "sh", requirement]);
  return files;
}

/** The path of a Go program. Without Go it is undefined, and a notice is printed. */
export function goProgram(module: string, version: string): string | undefined {
  const requirement = `${module}@${version}`;
  const folder = folderOf([requirement]);
  const program = join(folder, basename(module));
  if (isInstalled(folder)) return program;
  if (spawnSync("go", ["version"]).status !== 0) {
    console.error(`note: ${requirement} was not run: there is no Go here`);
    return undefined;
  }
  mkdirSync(folder, { recursive: true });
  install(folder, "go", ["install", requirement], { GOBIN: folder });
  return program;
}

/**
 * Builds a Go module of this repository, and returns the path of its program. Its go.mod names the
 * versions of its direct dependencies. Without Go it is undefined, and a notice is printed.
 * @param source the package with the program, which may be one of a dependency
 */
export function goModule(name: string, module: string, source = "."): string | undefined {
  if (spawnSync("go", ["version"]).status !== 0) {
    console.error(`note: ${name} was not run: there is no Go here`);
    return undefined;
  }
  const folder = join(tmpdir(), "portico-outside", name);
  cpSync(module, folder, { recursive: true });
  const program = join(folder, "program");
  const { status, stderr } = spawnSync("go", ["build", "-mod=mod", "-o", program, source], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`go build of ${module} failed: ${stderr}`);
  return program;
}

/**
 * The folder of the programs that a Cargo package of this repository builds, in debug mode. The
 * first build on a machine compiles all dependencies, which takes minutes on a busy one.
 */
export function cargoPrograms(name: string, manifest: string): string {
  const built = join(tmpdir(), "portico-outside", name);
  const build = ["build", "--quiet", "--locked", "--manifest-path", manifest, "--target-dir", built];
  const { status, stderr } = spawnSync("cargo", build, { encoding: "utf8" });
  if (status !== 0) throw new Error(`cargo ${build.join(" ")} failed: ${stderr}`);
  return join(built, "debug");
}

/** Runs a program until it ends, for at most two minutes. */
export function run(path: string, parameters: readonly string[]): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(path, parameters, { timeout: 120_000 });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (text) => {
        output += text;
      });
    }
    child.on("close", (status) => resolve({ status, output }));
  });
}

/** Installs into the folder. An installation that was interrupted is started again. */
function install(folder: string, program: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): void {
  const { status, stderr } = spawnSync(program, args, {
    cwd: folder,
    env: { ...process.env, ...more },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`);
  writeFileSync(join(folder, "complete"), "");
}

function isInstalled(folder: string): boolean {
  return existsSync(join(folder, "complete"));
}

function folderOf(requirements: readonly string[]): string {
  return join(tmpdir(), "portico-outside", requirements.join("_").replaceAll("/", "-"));
}
