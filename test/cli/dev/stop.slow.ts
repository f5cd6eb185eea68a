// When portico dev ends for any reason, none of its processes continues.
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { until } from "../../support/until.js";
import { edit, GREETING, newProject, replaceCompiler, skipTypes, startDev } from "./project.js";

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

const linux = process.platform === "linux" ? {} : { skip: "reads /proc" };

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
    await until(() => processesIn(project).length === 0);
  });
}

t.test("after SIGKILL, when a service and the type checker are busy", linux, async (t) => {
  const project = newProject(t.testdir());
  const types = "main.ts(1,1): error TS1: none\\nFound 1 error. Watching for file changes.";
  replaceCompiler(project, `console.log("${types}"); for (;;);`);
  edit(join(project, "greeter.ts"), GREETING, 'console.log("endless"); for (;;);');
  t.teardown(() => {
    for (const pid of processesIn(project)) process.kill(Number(pid), "SIGKILL");
  });
  const dev = await startDev(t, project);
  await until(() => [/1 type error/, /greeter started in/].every((line) => line.test(dev.output())));
  fetch(`${dev.http}/greeter?name=Ada`).catch(() => undefined);
  await until(() => /endless/.test(dev.output()));
  t.ok(processesIn(project).length >= 3, "door, service and type checker run");
  dev.child.kill("SIGKILL");
  await until(() => processesIn(project).length === 0);
});
