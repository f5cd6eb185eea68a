// npm run test:full: everything that .ci/run runs except the run on a terminal. Each part runs to
// its end, and one total is printed. Explorations that are only sampled in CI run at full length
// (test/support/full.ts).
import { spawn } from "node:child_process";
import { once } from "node:events";

const STEPS = [
  "test",
  "test:slow",
  "test:outside",
  "test:postgres",
  "test:browser",
  "test:faults",
  "conformance",
  "check",
  "spec -- --check",
];

const failed = [];
const totals = { passed: 0, failed: 0 };

for (const step of STEPS) {
  console.log(`\n::: npm run ${step}`);
  const since = performance.now();
  const code = await run(step);
  const seconds = Math.round((performance.now() - since) / 1000);
  console.log(`::: npm run ${step}: ${code === 0 ? "passed" : "FAILED"} in ${seconds} s`);
  if (code !== 0) failed.push(step);
}

console.log(`\n${failed.length === 0 ? "every step passed" : `failed: ${failed.join(", ")}`}`);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function run(step) {
  const child = spawn("npm", ["run", "--silent", ...step.split(" ")], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, TEST_FULL: "1" },
  });
  let line = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    process.stdout.write(text);
    const lines = (line + text).split("\n");
    line = lines.pop();
    for (const one of lines) count(one);
  });
  const [code] = await once(child, "close");
  return code;
}

/** Adds the totals that the test runner's reporter prints at the end of a run. */
function count(line) {
  const [, passed, failures] = /^(\d+) passed, (\d+) failed/.exec(line) ?? [];
  totals.passed += Number(passed ?? 0);
  totals.failed += Number(failures ?? 0);
}
