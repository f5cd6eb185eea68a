/** A program that writes lines to an audit log, and prints each when its write has resolved. */
import { writeSync } from "node:fs";
import { outputTo } from "../../../services/auth/log/audit/audit-output.js";

const [file = "", ...lines] = process.argv.slice(2);
const output = outputTo(file);
for (const line of lines) {
  await output.write([`${line}\n`]);
  writeSync(1, `${line}\n`);
}
await output.close();
