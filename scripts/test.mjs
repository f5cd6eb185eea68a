// npm test: installs and builds what is missing or stale, then runs the tests that need nothing but Node.
// Arguments are test files, none meaning all that end with .test.ts; --timeout= is in seconds for each.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setup } from "./setup.mjs";

/** How many test files run at a time: one more than a small machine has processors, since most of them also wait. */
const AT_A_TIME = 3;

await setup();
const { build } = await import("./build.mjs");
await build();

const { values, positionals } = parseArgs({
  options: { timeout: { type: "string", default: "120" } },
  allowPositionals: true,
});
const everything = () => readdirSync("test", { recursive: true }).filter((name) => name.endsWith(".test.ts"));
const files = positionals.length > 0 ? positionals : everything().map((name) => join("test", name));
const folder = `.tap/built/${process.pid}`;
process.exitCode = (await run()) ?? 1;

/** Compiled beforehand, the tests take half the time: a loader would do it anew in each of their processes. */
async function run() {
  const { build: bundle, stop } = await import("esbuild");
  try {
    await bundle({
      entryPoints: files,
      outbase: ".",
      outdir: folder,
      bundle: true,
      splitting: true,
      packages: "external",
      format: "esm",
      platform: "node",
      target: "node20",
      sourcemap: "linked",
      logLevel: "warning",
    });
    await stop(); // It would keep what it has read for the next time.
    const compiled = files.map((file) => join(folder, file.replace(/\.ts$/, ".js")));
    const options = ["--enable-source-maps", "--test", "--test-reporter=spec", `--test-concurrency=${AT_A_TIME}`];
    const patience = `--test-timeout=${Number(values.timeout) * 1000}`;
    const env = { ...process.env, TAP_TIMEOUT: values.timeout };
    return spawnSync(process.execPath, [...options, patience, ...compiled], { stdio: "inherit", env }).status;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
