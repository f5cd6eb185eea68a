// Prepares a fresh clone, or one with changed dependencies, so that everything runs. It needs only
// Node and npm.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Progress } from "./progress.mjs";

/**
 * Installs the dependencies in a folder's package-lock.json, unless exactly these are installed
 * already.
 */
export async function setup(folder = ".") {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    console.error(`Portico needs Node 20.19 or later; this is ${process.version}.`);
    process.exit(1);
  }
  if (isInstalled(folder)) return;
  const progress = new Progress(process.stderr, "Installing dependencies (once)");
  const { failure, output } = await install(folder, (stage) => progress.stage(stage));
  progress.end();
  if (failure === undefined) return;
  console.error(`${output}npm ci failed: ${failure}. Nothing was started.`);
  const missing = /\bgyp\b/.test(output) ? missingTools() : [];
  if (missing.length > 0) console.error(howToInstall(missing));
  process.exit(1);
}

/** The interval in which npm's current stage is determined, in milliseconds. */
const LOOK_MS = 500;
/** Maximum characters of npm's output that are stored. */
const MAX_OUTPUT = 64 * 1024;

/** Runs npm ci. Returns its output, and why it failed, if it did. */
async function install(folder, onStage) {
  const npm = process.env.npm_execpath;
  const [command, ...first] = npm?.endsWith(".js") ? [process.execPath, npm] : ["npm"];
  const args = [...first, "ci", "--include=dev", "--no-fund", "--no-audit", "--loglevel=error"];
  const child = spawn(command, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output = (output + text).slice(-MAX_OUTPUT);
    });
  }
  const stop = (signal) => child.kill(signal);
  process.on("SIGTERM", stop);
  const look = setInterval(() => onStage(stageOf(folder)), LOOK_MS);
  onStage("fetching packages");
  const failure = await once(child, "close").then(failureOf, (error) => error.message);
  clearInterval(look);
  process.off("SIGTERM", stop);
  return { failure, output };
}

/** npm's current stage, determined from the files that it has written. */
function stageOf(folder) {
  return existsSync(join(folder, "node_modules/sqlite3")) ? "unpacking and setting up packages" : "fetching packages";
}

function failureOf([code, signal]) {
  if (code === 0) return undefined;
  return signal === null ? `it ended with ${code}` : `it was ended by ${signal}`;
}

/** What node-gyp needs. Each entry lists programs; one of them is enough. */
const TOOLS = {
  make: ["make", "gmake"],
  "a C++ compiler": [process.env.CXX || "c++", "g++", "clang++"],
  "Python 3": [process.env.PYTHON || "python3", "python"],
};

function missingTools() {
  return Object.keys(TOOLS).filter((tool) => !TOOLS[tool].some(isProgram));
}

function isProgram(name) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function howToInstall(missing) {
  return [
    `There is no SQLite made for this machine, so it must be compiled. Missing for that: ${missing.join(", ")}.`,
    "Install them and start again:",
    "  Debian, Ubuntu   apt-get install make g++ python3",
    "  Fedora           dnf install make gcc-c++ python3",
    "  Alpine           apk add make g++ python3",
    "  macOS            xcode-select --install",
  ].join("\n");
}

/**
 * Whether exactly the packages in a folder's package-lock.json are installed, by whatever program.
 * npm records what it has installed in the same form, without optional packages for other systems.
 */
export function isInstalled(folder) {
  const record = join(folder, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const wanted = packagesOf(join(folder, "package-lock.json"));
  const there = packagesOf(record);
  // A mirror has the same bytes at another address.
  const isThere = ([path, { version, integrity, optional }]) =>
    path in there ? there[path].version === version && there[path].integrity === integrity : optional === true;
  return Object.entries(wanted).every(isThere) && Object.keys(there).every((path) => path in wanted);
}

function packagesOf(lock) {
  const { "": _root, ...packages } = JSON.parse(readFileSync(lock, "utf8")).packages;
  return packages;
}
