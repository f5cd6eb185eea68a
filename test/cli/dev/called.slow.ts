// A service calls another one by the definition that `portico add proto` has brought: under
// `portico dev`, and in a built folder. test/cli/roles/built-in-clients.slow.ts has the services of
// `portico server`, test/kit/serve.slow.ts a service that runs alone.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { call } from "../../support/process.js";
import { edit, GREETING, newProject, skipTypes, startDev } from "./project.js";

const project = newProject(t.testdir());
skipTypes(project);
const dev = await startDev(t, project);
await dev.prints(/greeter started in/);

t.test("under portico dev", async (t) => {
  const env = { ...process.env, HOME: project, PORTICO_URL: dev.http };
  const add = ["add", "proto", "helloworld"];
  const printed = execFileSync(process.execPath, [resolve("dist/portico.js"), ...add], { cwd: project, env });
  t.match(printed.toString(), /^clients\/helloworld\.binpb\n/);
  const [imported = "", client = ""] = printed.toString().split("\n  ").slice(1);
  const source = join(project, "greeter.ts");
  edit(source, "import {", `${imported}\nimport {`);
  edit(source, "async call({ name }) {", "async call({ name }, call) {");
  edit(source, GREETING, `return ${client.trim()}.call({ name: name + " by call" });`);
  await dev.prints(/greeter reloaded in/);
  t.match(await call(`${dev.http}/greeter?name=Ada`), { status: 200, body: { message: "Hello Ada by call" } });
  t.notOk(existsSync(join(project, "dist")), "portico dev makes nothing that could be taken for a build");
  t.match(dev.output(), /greeter started in .*\/greeter\n/, "the service that it calls is none of its own");
});
