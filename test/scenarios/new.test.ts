// A new service, from `portico new` to a call over HTTP: as its README says, but for the ports and `npm install`.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { call, start } from "../support/process.js";

const folder = t.testdir({ data: {} });
const greeter = join(folder, "greeter");
execFileSync(process.execPath, [resolve("dist/portico.js"), "new", "greeter"], { cwd: folder });
symlinkSync(resolve("node_modules"), join(greeter, "node_modules"));

const service = spawn("npm", ["start", "--", "127.0.0.1:0"], { cwd: greeter, detached: true });
t.teardown(async () => {
  process.kill(-service.pid!);
  await once(service, "exit");
});
let said = "";
const late = AbortSignal.timeout(20_000);
while (!/listens on \S+\n/.test(said)) said += (await once(service.stdout, "data", { signal: late }))[0];
const target = /listens on (\S+)/.exec(said)?.[1] ?? "";

const config = join(greeter, "portico.json");
writeFileSync(config, readFileSync(config, "utf8").replace("127.0.0.1:9000", target));
const portico = await start(["server", "--config", "portico.json"], { PORTICO_DATA: join(folder, "data") }, greeter);
t.teardown(() => portico.stop());
const http = portico.address("HTTP");

/** The contract is read soon after the start, not at it. */
async function described() {
  for (;;) {
    const answer = await call(`${http}/registry/describe?service=greeter`);
    if (answer.status !== 404 || late.aborted) return answer.body as { service: object; proto: string };
  }
}

t.test("a new service is described by the comments of its contract", async (t) => {
  const { service, proto } = await described();
  t.match(service, { name: "greeter", summary: "Greets people.", instances: 1 });
  t.match(proto, "// Who to greet, such as `Ada`.");
});

t.test("the new service is called by its name alone", async (t) => {
  const { status, body } = await call(`${http}/greeter?name=Ada`);
  t.same({ status, body }, { status: 200, body: { message: "Hello Ada" } });
});

t.test("an error of the new service reaches the caller", async (t) => {
  const { body } = await call(`${http}/greeter/call`, {});
  t.same(body, { Id: "greeter", Code: 400, Detail: "name: must not be empty", Status: "Bad Request" });
});
