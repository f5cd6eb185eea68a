// The files in deploy/ are valid by the schemas of Kubernetes and of Compose, and haproxy accepts
// its configuration. The validators are third-party programs: kubernetes-validate, which contains
// the schemas, and the reference implementation of Compose.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { goProgram, pythonPrograms, run } from "../outside/tools.js";

const KUBERNETES = "deploy/kubernetes";
/** The oldest version that is likely in use, and the newest that the validator knows. */
const VERSIONS = ["1.30", "1.37"];

t.test("the manifests are valid in the oldest and the newest Kubernetes", async (t) => {
  const programs = pythonPrograms("kubernetes-validate==1.37.0");
  if (programs === undefined) return;
  const manifests = readdirSync(KUBERNETES).filter((name) => name.endsWith(".yaml") && name !== "kustomization.yaml");
  const listed = readFileSync(join(KUBERNETES, "kustomization.yaml"), "utf8");
  for (const name of manifests) t.match(listed, `  - ${name}\n`, `${name} is in kustomization.yaml`);
  const validate = join(programs, "kubernetes-validate");
  const files = manifests.map((name) => join(KUBERNETES, name));
  for (const version of VERSIONS) {
    const { status, output } = await run(validate, ["--strict", "--kubernetes-version", version, ...files]);
    t.equal(status, 0, output);
    t.match(output, /deployment\/portico-gateway against version/);
  }
  const folder = mkdtempSync(join(tmpdir(), "portico-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const wrong = join(folder, "gateway.yaml");
  writeFileSync(wrong, readFileSync(join(KUBERNETES, "gateway.yaml"), "utf8").replace("readinessProbe", "readyProbe"));
  t.equal((await run(validate, ["--strict", wrong])).status, 1, "the validator finds a wrong field");
});

t.test("the Compose file is valid", async (t) => {
  const compose = goProgram("github.com/compose-spec/compose-go/v2/cmd", "v2.16.2");
  if (compose === undefined) return;
  const { status, output } = await run(compose, ["-no-interpolation", "deploy/compose.yaml"]);
  t.equal(status, 0, output);
});

t.test("haproxy accepts the configuration of the Compose file's balancer", async (t) => {
  if (spawnSync("haproxy", ["-v"]).status !== 0) return void t.comment("there is no haproxy here");
  const { status, output } = await run("haproxy", ["-c", "-f", "deploy/haproxy.cfg"]);
  t.equal(status, 0, output);
});
