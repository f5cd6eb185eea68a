// Brings a fresh clone, or one whose dependencies changed, to where everything runs. Uses nothing but Node and npm.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Installs the dependencies named in a folder's package-lock.json, unless that very set is installed already. */
export async function setup(folder = ".") {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    console.error(`Portico needs Node 20.19 or later; this is ${process.version}.`);
    process.exit(1);
  }
  if (isInstalled(folder)) return;
  console.error("Installing dependencies …");
  const npm = process.env.npm_execpath;
  const [command, ...first] = npm?.endsWith(".js") ? [process.execPath, npm] : ["npm"];
  const args = [...first, "ci", "--include=dev", "--no-fund", "--no-audit", "--loglevel=error"];
  const child = spawn(command, args, { cwd: folder, stdio: ["ignore", 2, 2], env: withHeaders() });
  const stop = (signal) => child.kill(signal);
  process.on("SIGTERM", stop);
  const fault = await once(child, "close").then(faultOf, (error) => error.message);
  process.off("SIGTERM", stop);
  if (fault === undefined) return;
  console.error(`npm ci failed: ${fault}. Nothing was started.`);
  process.exit(1);
}

function faultOf([code, signal]) {
  if (code === 0) return undefined;
  return signal === null ? `it ended with ${code}` : `it was ended by ${signal}`;
}

/**
 * Whether the very packages that a folder's package-lock.json names are installed, whoever did it. npm records what it
 * has installed in the same form, without those that are optional and made for other systems.
 */
export function isInstalled(folder) {
  const record = join(folder, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const wanted = packagesOf(join(folder, "package-lock.json"));
  const there = packagesOf(record);
  // A mirror gives the same bytes under another address.
  const isThere = ([path, { version, integrity, optional }]) =>
    path in there ? there[path].version === version && there[path].integrity === integrity : optional === true;
  return Object.entries(wanted).every(isThere) && Object.keys(there).every((path) => path in wanted);
}

function packagesOf(lock) {
  const { "": _root, ...packages } = JSON.parse(readFileSync(lock, "utf8")).packages;
  return packages;
}

/** Where SQLite must be compiled, the headers that came with this Node save a download that may not be possible. */
function withHeaders() {
  const nodedir = join(dirname(process.execPath), "..");
  if (!existsSync(join(nodedir, "include/node/node.h"))) return process.env;
  return { npm_config_nodedir: nodedir, ...process.env };
}
