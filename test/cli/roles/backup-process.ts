/**
 * A process that makes or restores a backup. It prints a line once its code is loaded. With
 * `KILL_BEFORE` it kills itself before that change of a file, counted from 1. SQLite's own changes
 * are not counted.
 */
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { backup } from "../../../cli/roles/backup.js";
import { restore } from "../../../cli/roles/restore.js";

const killBefore = Number(process.env.KILL_BEFORE ?? 0);
let changes = 0;

/** Whether a call changes a file: not an open for reading, and not a removal of an absent file. */
function isChange(name: string, [path, flags = "r"]: readonly unknown[]): boolean {
  if (/^(?:rm|unlink)/.test(name)) return fs.existsSync(String(path));
  return !name.startsWith("open") || flags !== "r";
}

/** Replaces functions that change files by functions that are counted. */
function count(owner: object, names: readonly string[]): void {
  for (const name of names) {
    const act = Reflect.get(owner, name) as (...args: unknown[]) => unknown;
    Reflect.set(owner, name, function (this: unknown, ...args: unknown[]): unknown {
      if (isChange(name, args) && ++changes === killBefore) process.kill(process.pid, "SIGKILL");
      return act.apply(this, args);
    });
  }
}

if (killBefore > 0) {
  const handle = await promises.open(process.execPath, "r");
  await handle.close();
  count(Object.getPrototypeOf(handle), ["write", "writeFile", "truncate"]);
  count(promises, ["open", "rename", "link", "copyFile", "writeFile"]);
  const ofFiles = ["open", "write", "writeFile", "rename", "link", "copyFile", "rm", "unlink", "chown", "mkdir"];
  count(
    fs,
    ofFiles.map((name) => `${name}Sync`),
  );
  syncBuiltinESMExports();
}
const [command, file = "", data = ""] = process.argv.slice(2);
const { stdin, stdout, stderr } = process;
const io = { stdin, stdout, stderr, env: { PORTICO_DATA: data }, signal: new AbortController().signal };
process.stdout.write("begun\n");
if (command === "backup") await backup(file, {}, io);
else await restore(file, { yes: true }, io);
