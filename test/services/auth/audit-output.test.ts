// What standard output gets when its reader takes nothing for a while: each line once. The lines
// come again after a write that took too long, but such a write goes on.
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { StandardOutput } from "../../../services/auth/log/audit/audit-output.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";

const MAX_MS = 50;
/** More than a pipe takes in: 64 KiB on Linux. */
const first = Array.from({ length: 2_000 }, (_, index) => `${"x".repeat(60)} ${index}\n`);
const second = ["later\n"];

t.test("a write that took too long, and ended before its lines came again", async (t) => {
  const { descriptor, read } = openPipe();
  t.teardown(() => closeSync(descriptor));
  const output = new StandardOutput(descriptor, MAX_MS);
  await t.rejects(output.write(first), { message: "its reader takes nothing for 0.05 s" });
  await t.rejects(output.write(first), { message: /takes nothing/ }, "it has not ended");
  await until(() => read() === first.join(""));
  await output.write([...first, ...second]);
  await until(() => read() === [...first, ...second].join(""));
  await output.write(second);
  await until(() => read() === [...first, ...second, ...second].join(""), { what: () => read().slice(-100) });
});

/** A pipe that takes in no more than its buffer until it is read. */
function openPipe(): { descriptor: number; read: () => string } {
  const path = join(temporaryFolder(t), "pipe");
  execFileSync("mkfifo", [path]);
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  let text = "";
  const read = (): string => {
    try {
      const chunk = Buffer.alloc(64 * 1024);
      text += chunk.toString("latin1", 0, readSync(descriptor, chunk));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
    return text;
  };
  return { descriptor, read };
}
