// What `npm pack` packs runs in an empty folder, with nothing but the one dependency that it names.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { call, start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";

t.test("the packed program serves and answers", async (t) => {
  const folder = temporaryFolder(t);
  const packed = execFileSync("npm", ["pack", "--silent", "--ignore-scripts", `--pack-destination=${folder}`], {
    encoding: "utf8",
  });
  execFileSync("tar", ["-xzf", packed.trim()], { cwd: folder });
  const program = join(folder, "package");
  const { bin, dependencies } = JSON.parse(readFileSync(join(program, "package.json"), "utf8"));
  t.same(Object.keys(dependencies), ["sqlite3"], "all others are in the bundle");
  mkdirSync(join(program, "node_modules"));
  symlinkSync(resolve("node_modules/sqlite3"), join(program, "node_modules/sqlite3"));
  const data = join(folder, "data");
  const portico = await start(["server"], { PORTICO_DATA: data }, folder, [], { program: join(program, bin.portico) });
  t.teardown(() => portico.stop());
  const url = portico.address("HTTP");
  t.match(await call(`${url}/helloworld/call?name=Ada`), { status: 200, body: { message: "Hello Ada" } });
  t.equal((await fetch(`${url}/explore`)).status, 200, "its pages are there");
  t.match(portico.output(), `${join(program, bin.portico)} login --url`, "it names itself by what works in any folder");
});
