// The log's last lines are written at the exit, but never keep a process from its exit.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import t from "tap";
import { bundleInto } from "../support/bundle.js";
import { inTime } from "../support/until.js";

t.test("a process exits with its last line written, or dropped if nobody reads it", async (t) => {
  const program = await bundleInto(t.testdir(), "test/process/last-line.ts");
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [program], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    t.teardown(() => child.kill("SIGKILL"));
    await once(child, "message");
    return child;
  };
  const exitOf = async (child: ChildProcess): Promise<unknown[]> => {
    const exit = once(child, "exit");
    child.send("log");
    return inTime(exit, "the exit");
  };

  const read = await start();
  const logged = text(read.stderr!);
  t.strictSame(await exitOf(read), [7, null]);
  t.match(await logged, /the last line/);

  const unread = await start();
  unread.stderr!.destroy();
  await once(unread.stderr!, "close");
  t.strictSame(await exitOf(unread), [7, null]);
});
