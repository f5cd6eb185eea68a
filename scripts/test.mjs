// npm test: installs and builds what is missing or stale, then runs the tests that need nothing but Node.
// Arguments are test files; none means all but the slow ones.
import { spawnSync } from "node:child_process";
import { setup } from "./setup.mjs";

setup();
const { build } = await import("./build.mjs");
await build();
const tap = ["node_modules/tap/dist/esm/run.mjs"];
const { status } = spawnSync(process.execPath, [...tap, ...process.argv.slice(2)], { stdio: "inherit" });
process.exit(status ?? 1);
