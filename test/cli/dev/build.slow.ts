// `portico build` makes a folder that runs where nothing is installed but Node. The service uses
// the store, which needs the native code of sqlite3, and calls another service.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { installation } from "../../support/installation.js";
import { printedBy } from "../../support/printed.js";
import { administrator, call, start } from "../../support/process.js";
import { temporaryFolder } from "../../support/temporary.js";
import { until } from "../../support/until.js";
import { edit, GREETING, newProject } from "./project.js";

const folder = temporaryFolder(t);
const project = newProject(folder);
const portico = (env: Record<string, string>, ...args: string[]) =>
  execFileSync(process.execPath, [resolve("dist/portico.js"), ...args], {
    cwd: project,
    stdio: "pipe",
    env: { ...process.env, HOME: folder, ...env },
  });

edit(join(project, "greeter.ts"), "async call({ name }) {", "async call({ name }, call) {");
edit(
  join(project, "greeter.ts"),
  "import {",
  `import { HelloworldService } from "./gen/helloworld/helloworld.js";\nimport {`,
);
edit(
  join(project, "greeter.ts"),
  GREETING,
  `const visit = await call.store<number>("visits").increment(name);
    const { message } = await call.client(HelloworldService, "helloworld").call({ name });
    return { message: \`\${message}, \${visit}\` };`,
);

t.test("the built folder runs elsewhere with Node alone", async (t) => {
  const data = await installation(join(folder, "data"));
  const server = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => server.stop());
  const http = server.address("HTTP");
  portico({ PORTICO_URL: http }, "add", "proto", "helloworld");
  portico({}, "build");
  const elsewhere = join(folder, "else where");
  cpSync(join(project, "dist"), elsewhere, { recursive: true });
  rmSync(project, { recursive: true });
  t.ok(existsSync(join(elsewhere, "Dockerfile")));
  t.same(readdirSync(join(elsewhere, "node_modules")), ["sqlite3"], "only native code is not in the bundle");

  const admin = await administrator(http, data);
  const enrolled = await call(`${http}/v1/auth/Enrolments/Create`, { name: "greeter" }, admin);
  const env = {
    PORTICO_AUTHORITY: server.address("gRPC"),
    PORTICO_ENROLMENT: (enrolled.body as { secret: string }).secret,
    PORTICO_DATA: join(folder, "store"),
    PORTICO_SERVICE_STORE: `sqlite:${join(folder, "greeter.sqlite")}`,
  };
  const child = spawn(process.execPath, ["main.js"], { cwd: elsewhere, env, stdio: ["ignore", "pipe", "pipe"] });
  t.teardown(() => child.kill("SIGKILL"));
  const printed = printedBy(child, "node main.js");
  await printed.prints(/"msg":"registered"/);
  await until(async () => (await call(`${http}/greeter?name=Ada`)).status === 200);
  t.match(await call(`${http}/greeter?name=Bob`), { body: { message: "Hello Bob, 1" } });
  t.match(await call(`${http}/greeter?name=Bob`), { body: { message: "Hello Bob, 2" } });
});
