// When portico dev ends for any reason, none of its processes continues.
import { once } from "node:events";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { until } from "../../support/until.js";
import { newProject, replaceCompiler, skipTypes, startDev } from "./project.js";

/** Processes by their working folder: the processes of a service run in its folder. */
function processesIn(folder: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`HOME=${folder}\0`);
    } catch {
      return false; // The process has ended, or belongs to another user.
    }
  });
}

/** In milliseconds. A type checker ends only after its check, and on a busy machine that waits. */
const MAX_WAIT = 180_000;

const linux = process.platform === "linux" ? {} : { skip: "reads /proc" };

t.setTimeout(2 * MAX_WAIT);

for (const [signal, exit, checksTypes] of [
  ["SIGINT", 0, false],
  ["SIGTERM", 0, false],
  ["SIGKILL", null, true],
] as const) {
  t.test(`after ${signal}`, linux, async (t) => {
    const project = newProject(t.testdir());
    if (!checksTypes) skipTypes(project);
    const dev = await startDev(t, project);
    await dev.prints(/greeter started in/);
    t.ok(processesIn(project).length >= 3, "door, service and type checker run");
    const ended = once(dev.child, "exit");
    dev.child.kill(signal);
    const [code] = await ended;
    t.equal(code, exit);
    await until(() => processesIn(project).length === 0, { within: MAX_WAIT });
  });
}

// The real type checker would take long to reach this state on a busy machine, because it has a low
// priority. The exit of both programs would wait for ever, as that of a log may when nobody reads.
t.test("after SIGKILL, when the programs would not exit by themselves", linux, async (t) => {
  const project = newProject(t.testdir());
  const hang = 'process.on("exit", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));';
  replaceCompiler(
    project,
    `${hang} console.log("main.ts(1,1): error TS1: none\\nFound 1 error. Watching for file changes."); setInterval(() => {}, 60_000);`,
  );
  appendFileSync(join(project, "main.ts"), `${hang}\n`);
  t.teardown(() => {
    for (const pid of processesIn(project)) process.kill(Number(pid), "SIGKILL");
  });
  const dev = await startDev(t, project);
  await until(() => [/1 type error/, /greeter started in/].every((line) => line.test(dev.output())));
  t.ok(processesIn(project).length >= 3, "door, service and type checker run");
  dev.child.kill("SIGKILL");
  await until(() => processesIn(project).length === 0);
});
