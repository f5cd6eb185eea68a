// The metrics of a running server pass the linter of Prometheus that `promtool check metrics` runs.
// The linter is built with Go.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { installation } from "../support/installation.js";
import { call, start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";

t.setTimeout(300_000);

/** In milliseconds. The first build on a machine compiles the linter's dependencies. */
const BUILD_TIME = 240_000;
const LINT_TIME = 30_000;

const WRONG = "# TYPE bodies_kilobytes counter\nbodies_kilobytes 1\n";
const noGo = spawnSync("go", ["version"]).status !== 0 && "there is no Go here";

/** Runs a program until it ends. Its standard error is also the test's. */
function run(program: string, args: readonly string[], options: { cwd?: string; input?: string; timeout: number }) {
  const { status, stdout } = spawnSync(program, args, {
    encoding: "utf8",
    ...options,
    stdio: ["pipe", "pipe", "inherit"],
  });
  return { status, stdout };
}

t.test("the metrics of a running server pass the linter of Prometheus", { skip: noGo }, async (t) => {
  const program = join(temporaryFolder(t), "promlint");
  const build = { cwd: "test/process/promlint", timeout: BUILD_TIME };
  t.equal(run("go", ["build", "-o", program, "."], build).status, 0, "the linter is built");
  const lint = (metrics: string) => run(program, [], { input: metrics, timeout: LINT_TIME });
  t.match(lint(WRONG), { status: 0, stdout: /^bodies_kilobytes no help text$/m }, "the linter finds what is wrong");

  const portico = await start(["server"], { PORTICO_DATA: await installation(t.testdir()) });
  t.teardown(() => portico.stop());
  // A call, so that the metrics of calls have samples.
  t.equal((await call(`${portico.address("HTTP")}/helloworld/call?name=Ada`)).status, 200);
  t.equal((await call(`${portico.address("HTTP")}/auth/login`, { account: "admin", password: "wrong" })).status, 401);
  const metrics = await (await fetch(portico.address("Metrics"))).text();
  t.match(metrics, /^portico_\w+_total\{/m);
  t.same(lint(metrics), { status: 0, stdout: "" });
});
