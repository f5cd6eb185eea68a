// npm test: installs and builds what is missing or stale, then runs the tests that need nothing but Node.
// Arguments are test files; none means all but the slow ones.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setup } from "./setup.mjs";

setup();
const { build } = await import("./build.mjs");
await build();
const tap = (args, stdio) => spawnSync(process.execPath, ["node_modules/tap/dist/esm/run.mjs", ...args], { stdio });
// tap comes with a plugin that compiles TypeScript by itself, slowly. The run that takes it out, as .taprc says, still
// loads it: so that is done by a run of its own.
const plugins = readFileSync("node_modules/@tapjs/test/test-built/dist/esm/index.js", "utf8");
if (plugins.includes("@tapjs/typescript")) tap(["build"], "ignore");
const { status } = tap(process.argv.slice(2), "inherit");
process.exit(status ?? 1);
