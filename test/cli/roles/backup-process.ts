/** A process that makes or restores a backup. It prints a line once its code is loaded. */
import { backup } from "../../../cli/roles/backup.js";
import { restore } from "../../../cli/roles/restore.js";

const [command, file = "", data = ""] = process.argv.slice(2);
const { stdin, stdout, stderr } = process;
const io = { stdin, stdout, stderr, env: { PORTICO_DATA: data }, signal: new AbortController().signal };
process.stdout.write("begun\n");
if (command === "backup") await backup(file, {}, io);
else await restore(file, { yes: true }, io);
