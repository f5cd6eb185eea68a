// The documents are valid according to a public linter: the published ones, and one with every kind
// of field.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import t from "tap";
import { npmPackages } from "../../outside/tools.js";
import { ask, deploy } from "../deployment.js";
import { createLibrary } from "../dialects/http-rule/library.js";
import { createKinds } from "./kinds.js";

t.setTimeout(300_000);

const redocly = join(npmPackages("@redocly/cli@2.77.0"), "node_modules/.bin/redocly");

/**
 * Rules of the linter that do not apply. Descriptors do not name a service's licence, and a oneof
 * with two members has only one pair.
 */
const SKIPPED = ["info-license", "no-illogical-composition-keywords"];

interface Problem {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer: string }[];
}

/**
 * Whether the schema is used only by messages of streams. The linter does not read `x-item-schema`.
 */
function isOfItems({ ruleId, location: [at] }: Problem, document: string): boolean {
  return ruleId === "no-unused-components" && document.includes(`"${at?.pointer}"`);
}

async function problems(file: string): Promise<string[]> {
  const skipped = SKIPPED.map((rule) => `--skip-rule=${rule}`);
  const args = ["lint", file, "--extends=recommended-strict", "--format=json", "--max-problems=1000", ...skipped];
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const child = spawn(redocly, args, { stdio: ["ignore", "pipe", "ignore"], env });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  const found: Problem[] = JSON.parse(output).problems;
  const document = readFileSync(file, "utf8");
  return found
    .filter((problem) => !isOfItems(problem, document))
    .map(({ ruleId, message, location: [at] }) => `${ruleId}: ${message} (${at?.pointer})`);
}

const files = readdirSync("spec").filter((name) => name !== "index.json");
t.ok(files.length >= 3, "the published ones were found");
for (const file of files) t.test(file, async (t) => t.same(await problems(resolve("spec", file)), []));

t.test("a document with every kind of field, and one with paths by annotations", async (t) => {
  const deployment = await deploy(t.testdir({ data: {} }), { services: [createKinds(), createLibrary()] });
  t.teardown(() => deployment.close());
  const folder = join(t.testdirName, "documents");
  mkdirSync(folder);
  for (const service of ["kinds", "probe", "library"]) {
    const { body } = await ask(deployment.handler, { target: `/openapi/${service}.json` });
    writeFileSync(join(folder, `${service}.json`), body);
    // The linter does not recognize a field `__proto__`, because every object has that member.
    const found = (await problems(join(folder, `${service}.json`))).filter((problem) => !problem.includes("__proto__"));
    t.same(found, [], service);
  }
});

t.test("the linter finds errors", async (t) => {
  const folder = t.testdir({ "broken.json": '{"openapi":"3.1.0","info":{"title":"x"},"paths":{}}' });
  t.match((await problems(join(folder, "broken.json"))).join("\n"), /version/);
});
