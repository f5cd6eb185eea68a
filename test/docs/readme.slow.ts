// The service in README.md runs with `portico dev`, and the calls in it reach the service. The only
// difference is that `npm install` links this checkout.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { run } from "../cli/client/test-gateway.js";
import { newProject, startDev } from "../cli/dev/project.js";
import { replay } from "../scenarios/transcript.js";
import { codeOf } from "./markdown.js";

const readme = readFileSync("README.md", "utf8");
const [contract = ""] = codeOf(readme, "proto");
const [handler = "", client = ""] = codeOf(readme, "ts");
const [, calls = ""] = codeOf(readme, "console");

const project = newProject(t.testdir());
writeFileSync(join(project, "proto/greeter.proto"), contract);
writeFileSync(join(project, "greeter.ts"), handler);
const dev = await startDev(t, project);
await dev.prints(/✓ greeter started/);
// The first call waits until the gateway has read the contract. On a busy computer this takes
// seconds, longer than a transcript may wait.
await fetch(`${dev.http}/greeter`, { method: "POST" });

t.test("a call by curl, and the generated client", async (t) => {
  await replay(t, calls, { url: dev.http, data: join(project, ".portico"), cwd: project });
});

t.test("a call by the generated client", async (t) => {
  writeFileSync(join(project, "call.ts"), client);
  const env = { PORTICO_URL: dev.http };
  t.same(await run(resolve("node_modules/.bin/tsx"), ["call.ts"], { cwd: project, env }), {
    status: 0,
    stdout: `${/\/\/ (.*)/.exec(client)?.[1]}\n`,
    stderr: "",
  });
});
