// spec/ and src/client/gen/ are what scripts/spec.mjs writes today.
import { spawnSync } from "node:child_process";
import t from "tap";

t.test("spec/ and src/client/gen/ are up to date", async (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/spec.mjs", "--check"], { encoding: "utf8" });
  t.same({ status, stdout, stderr }, { status: 0, stdout: "", stderr: "" });
});
