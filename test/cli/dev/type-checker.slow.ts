// Types are checked only after code was generated. Otherwise a new service would seem to be full of
// errors.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { until } from "../../support/until.js";
import { newProject, replaceCompiler, startDev } from "./project.js";

const folder = t.testdir();
const project = newProject(folder);
const seen = join(folder, "seen");

// A compiler that only reports which generated code exists when it starts.
replaceCompiler(
  project,
  `const { existsSync, writeFileSync } = require("node:fs");
writeFileSync(${JSON.stringify(seen)}, ["greeter", "descriptors"].filter((name) => existsSync("gen/" + name + ".ts")).join());
setInterval(() => {}, 60_000);`,
);

t.test("the types of a new service are checked with its generated code", async (t) => {
  const dev = await startDev(t, project);
  await dev.prints(/greeter started in/);
  const read = (): string => readFileSync(seen, { flag: "a+", encoding: "utf8" });
  await until(() => read() !== "", { what: () => `the compiler's word, ${dev.output()}` });
  t.equal(read(), "greeter,descriptors");
});
