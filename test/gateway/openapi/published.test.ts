// spec/ and src/client/gen/ contain what scripts/spec.mjs writes.
import { spawnSync } from "node:child_process";
import t from "tap";

t.test("spec/ and src/client/gen/ are up to date", async (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/spec.mjs", "--check"], { encoding: "utf8" });
  t.same({ status, stdout, stderr }, { status: 0, stdout: "", stderr: "" });
});
