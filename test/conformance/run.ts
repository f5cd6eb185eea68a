/**
 * Runs the official conformance suite, required and recommended cases, against the built program. Exits with 1 when a
 * case fails.
 *
 *     npm run conformance [-- --test Required.Proto3.JsonInput.BoolFieldTrue.JsonOutput]
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyRunner } from "./suite.js";

/** Fewer would mean that cases were skipped that have JSON. */
const LEAST_SUCCESSES = 2700;

const folder = mkdtempSync(join(tmpdir(), "portico-conformance-"));
const options = ["--enforce_recommended", "--maximum_edition", "2023", "--output_dir", folder];
const testee = [process.execPath, "--import=tsx", "test/conformance/testee.ts"];
const { status, stdout, stderr } = spawnSync(copyRunner(folder), [...options, ...process.argv.slice(2), ...testee], {
  encoding: "utf8",
  maxBuffer: 2 ** 28,
});
rmSync(folder, { recursive: true, force: true });
process.stdout.write(stderr + stdout);
const successes = Number(/(\d+) successes/.exec(stderr + stdout)?.[1] ?? 0);
const everything = process.argv.length === 2;
if (everything && successes < LEAST_SUCCESSES) console.error(`only ${successes} cases were tried`);
process.exitCode = status !== 0 || (everything && successes < LEAST_SUCCESSES) ? 1 : 0;
