// A service in any language joins by configuration: a plain grpc-js server that knows nothing of Portico, its contract
// read by server reflection or from a descriptor file.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { call, start } from "./process.js";

const descriptors = join(t.testdir(), "greeter.binpb");
execFileSync("node_modules/.bin/buf", ["build", "examples/foreign-greeter", "-o", descriptors]);

async function foreignGreeter(t: Test, ...args: string[]): Promise<string> {
  const child = spawn(process.execPath, ["examples/foreign-greeter/server.js", "127.0.0.1:0", ...args]);
  t.teardown(() => child.kill());
  const [line] = await once(child.stdout.setEncoding("utf8"), "data", { signal: AbortSignal.timeout(10_000) });
  return /listening on (\S+)/.exec(line)?.[1] ?? "";
}

const ways: [way: string, args: string[], file: string | undefined][] = [
  ["by reflection", [descriptors], undefined],
  ["from a descriptor file", [], descriptors],
];

for (const [way, args, file] of ways) {
  t.test(`joins ${way}`, async (t) => {
    const target = await foreignGreeter(t, ...args);
    const data = t.testdir();
    const services = [{ name: "greeter", target, descriptors: file }];
    writeFileSync(join(data, "portico.json"), JSON.stringify({ services }));
    const portico = await start(["server"], { PORTICO_DATA: data });
    t.teardown(() => portico.stop());
    const http = portico.address("HTTP");
    const late = Date.now() + 10_000;
    let answer = await call(`${http}/greeter/greet?first_name=Ada`);
    while (answer.status === 404 && Date.now() < late) answer = await call(`${http}/greeter/greet?first_name=Ada`);
    t.same(answer.body, { greeting: "Greetings Ada" });
    const listed = await call(`${http}/registry/list`, {});
    t.match(listed.body, { services: [{ name: "auth" }, { name: "greeter", instances: 1 }] });
  });
}
