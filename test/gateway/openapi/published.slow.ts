// If spec/ differs from what scripts/spec.mjs writes, the check says so and what to do, and the
// script writes it again.
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";

function spec(folder: string, ...args: string[]) {
  const script = resolve("scripts/spec.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { cwd: folder, encoding: "utf8" });
  return { status, stdout, stderr };
}

t.test("an outdated spec/ fails the check, which names the files, and is written again", async (t) => {
  const folder = t.testdir();
  cpSync("spec", join(folder, "spec"), { recursive: true });
  const at = (name: string) => join(folder, "spec", name);
  writeFileSync(at("auth.json"), readFileSync(at("auth.json"), "utf8").replace("Signs accounts", "Sings accounts"));
  writeFileSync(at("removed.json"), "{}\n");
  rmSync(at("index.json"));
  cpSync("src/client/gen", join(folder, "src/client/gen"), { recursive: true });
  const differing = "spec/auth.json, spec/index.json, spec/removed.json";
  const told = `Out of date: ${differing}. Run: npm run spec\n`;
  t.same(spec(folder, "--check"), { status: 1, stdout: "", stderr: told });
  t.equal(spec(folder).stdout, `Written: ${differing}\n`);
  t.same(spec(folder, "--check"), { status: 0, stdout: "", stderr: "" });
  t.equal(readFileSync(at("auth.json"), "utf8"), readFileSync("spec/auth.json", "utf8"));
});
