// Changes of the services in portico.json are applied while Portico runs. A file that cannot be
// used changes nothing.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { installation } from "../../support/installation.js";
import { call, start } from "../../support/process.js";
import { until } from "../../support/until.js";
import { portico as command } from "../command-line.js";

const data = await installation(t.testdir());
const file = join(data, "portico.json");
const descriptors = join(data, "greeter.binpb");
execFileSync("node_modules/.bin/buf", ["build", "examples/external-greeter", "-o", descriptors]);
const greeter = spawn(process.execPath, ["examples/external-greeter/server.js", "127.0.0.1:0"]);
t.teardown(() => greeter.kill());
const [line] = await once(greeter.stdout.setEncoding("utf8"), "data");
const target = /listening on (\S+)/.exec(line)?.[1] ?? "";

const portico = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => portico.stop());
const http = portico.address("HTTP");
const responses = async (name: string, status: number) =>
  (await call(`${http}/${name}/greet?first_name=Ada`)).status === status;

/** Replaces the file by another one, as editors and programs do. */
function save(text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

t.test("an added service joins, even if the file did not exist at the start", async (t) => {
  const added = await command(["services", "add", "greeter", target, "--descriptors", descriptors, "--config", file], {
    env: { PORTICO_DATA: data },
  });
  t.equal(added.exit, 0);
  await until(() => responses("greeter", 200));
  t.pass("greeter answers");
});

t.test("a file that cannot be used is logged, and the previous services stay", async (t) => {
  save('{"services": [{"name": "greeter"');
  await until(() => portico.errors().includes("the changed configuration file is not used"));
  t.match(portico.errors(), /portico\.json cannot be read/);
  t.ok(await responses("greeter", 200));
});

t.test("a service that the file no longer names leaves, and another one joins", async (t) => {
  save(JSON.stringify({ services: [{ name: "other", target, descriptors }] }));
  await until(async () => (await responses("greeter", 404)) && (await responses("other", 200)));
  t.pass("other answers, and greeter is gone");
});
