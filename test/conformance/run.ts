/**
 * Runs the official conformance suite against the built program, with required and recommended
 * cases. Exits with 1 if a case fails.
 *
 *     npm run conformance [-- --test Required.Proto3.JsonInput.BoolFieldTrue.JsonOutput]
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyRunner } from "./suite.js";

/** With fewer successes, cases that have JSON were skipped. */
const MIN_SUCCESSES = 2700;

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
if (everything && successes < MIN_SUCCESSES) console.error(`only ${successes} cases were tried`);
process.exitCode = status !== 0 || (everything && successes < MIN_SUCCESSES) ? 1 : 0;
