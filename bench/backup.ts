/**
 * Measures `portico backup` and `portico restore` with many API keys:
 * `node --import=tsx bench/backup.ts [keys] [accounts] [rules]`, after `npm run build`. Each
 * command is a process of its own. Resident memory is the maximum of its process.
 */

import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PROGRAM = join(import.meta.dirname, "../dist/portico.js");
/** Prints the maximum of the resident memory in KiB when the process ends. */
const REPORT = `process.on("exit", () => console.error("maxRSS " + process.resourceUsage().maxRSS))`;
const root = join(import.meta.dirname, "node_modules");
mkdirSync(root, { recursive: true });
const place = mkdtempSync(join(root, ".backup-"));
const data = join(place, "data");
const file = join(place, "portico.backup");

try {
  mkdirSync(data);
  const [keys = "1000000", accounts = "100000", rules = "10000"] = process.argv.slice(2);
  const fill = ["--import=tsx", join(import.meta.dirname, "authority.ts"), "fill", data, keys, accounts, rules];
  if (spawnSync(process.execPath, fill, { stdio: "inherit" }).status !== 0) throw new Error("fill failed");
  measure("backup", file);
  console.log(`the backup: ${Math.round(statSync(file).size / 1024 ** 2)} MiB`);
  // A start writes this file. Without it, a restore reads the log of the old store for the ID.
  writeFileSync(join(data, "installation-id"), JSON.parse(firstLine(file)).installation);
  measure("restore", file, "--yes");
} finally {
  rmSync(place, { recursive: true, force: true });
}

function measure(...args: string[]): void {
  const options = `--import=data:text/javascript,${encodeURIComponent(REPORT)}`;
  const env = { ...process.env, PORTICO_DATA: data, NODE_OPTIONS: options };
  const begin = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8", env });
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  if (status !== 0) throw new Error(`${args[0]} failed: ${stderr}`);
  const kib = Number(/maxRSS (\d+)/.exec(stderr)?.[1]);
  console.log(`${args[0]}: ${seconds} s, at most ${Math.round(kib / 1024)} MiB resident`);
}

function firstLine(file: string): string {
  const descriptor = openSync(file, "r");
  const buffer = Buffer.alloc(4096);
  readSync(descriptor, buffer);
  closeSync(descriptor);
  return buffer.toString().split("\n", 1)[0] ?? "";
}
