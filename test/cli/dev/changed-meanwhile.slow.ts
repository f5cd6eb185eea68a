// A contract that changes while `portico dev` compiles it is compiled again.
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { arch, platform } from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import t from "tap";
import { until } from "../../support/until.js";
import { edit, newProject, skipTypes, startDev } from "./project.js";

const SYSTEM = `buf-${platform}-${arch === "arm64" ? "aarch64" : arch}`;

/**
 * Replaces the project's buf with one that keeps its result back while there is a file `hold`. Then
 * there is a file `held`.
 */
function holdBuf(project: string): void {
  const packages = join(project, "node_modules", "@bufbuild");
  rmSync(packages);
  const files = {
    "buf/package.json": "{}",
    [`${SYSTEM}/package.json`]: "{}",
    [`${SYSTEM}/bin/buf`]: `#!/bin/sh
"${resolve("node_modules/@bufbuild", SYSTEM, "bin/buf")}" "$@"
code=$?
while [ -e hold ]; do touch held; sleep 0.05; done
exit $code
`,
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(packages, file)), { recursive: true });
    writeFileSync(join(packages, file), text);
  }
  chmodSync(join(packages, SYSTEM, "bin/buf"), 0o755);
}

t.test("a field that is added while the one before is compiled", async (t) => {
  const project = newProject(t.testdir());
  skipTypes(project);
  holdBuf(project);
  const dev = await startDev(t, project);
  await dev.prints(/greeter started in/);
  const proto = join(project, "proto/greeter.proto");
  const field = (name: string, number: number) =>
    edit(proto, "message CallResponse {", `message CallResponse {\n  string ${name} = ${number};`);
  writeFileSync(join(project, "hold"), "");
  field("zebra", 11);
  await until(() => existsSync(join(project, "held")));
  field("quagga", 12);
  // Nothing shows when the change has been noticed. If that takes longer, the test still passes.
  await wait(1_000);
  rmSync(join(project, "hold"));
  const url = `${dev.http}/openapi/greeter.json`;
  await until(async () => (await (await fetch(url)).text()).includes("quagga"));
  t.pass();
});
