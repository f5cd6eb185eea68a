// The service that `portico new` writes has no type errors.
import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";

t.test("tsc accepts the folder that portico new makes", async (t) => {
  const folder = t.testdir();
  spawnSync(process.execPath, [resolve("dist/portico.js"), "new", "greeter"], { cwd: folder });
  const cwd = join(folder, "greeter");
  symlinkSync(resolve("node_modules"), join(cwd, "node_modules"));
  const { status, stdout } = spawnSync("node_modules/.bin/tsc", { cwd, encoding: "utf8" });
  t.same({ status, stdout }, { status: 0, stdout: "" });
});
