// Brings a fresh clone, or one whose dependencies changed, to where everything runs. Uses nothing but Node and npm.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Installs the dependencies named in a folder's package-lock.json, unless that very set is installed for this Node
 * already.
 */
export function setup(folder = ".") {
  const marker = join(folder, "node_modules/.portico-setup");
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    console.error(`Portico needs Node 20.19 or later; this is ${process.version}.`);
    process.exit(1);
  }
  const wanted = createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .update(process.versions.modules)
    .digest("hex");
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return;
  console.error("Installing dependencies …");
  const npm = process.env.npm_execpath;
  const [command, ...first] = npm?.endsWith(".js") ? [process.execPath, npm] : ["npm"];
  const args = [...first, "ci", "--include=dev", "--no-fund", "--no-audit", "--loglevel=error"];
  const { status, error } = spawnSync(command, args, { cwd: folder, stdio: ["ignore", 2, 2], env: withHeaders() });
  if (status !== 0) {
    console.error(`npm ci failed${error ? `: ${error.message}` : ""}. Nothing was started.`);
    process.exit(1);
  }
  writeFileSync(marker, wanted);
}

/** Where SQLite must be compiled, the headers that came with this Node save a download that may not be possible. */
function withHeaders() {
  const nodedir = join(dirname(process.execPath), "..");
  if (!existsSync(join(nodedir, "include/node/node.h"))) return process.env;
  return { npm_config_nodedir: nodedir, ...process.env };
}
