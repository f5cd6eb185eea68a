// Independent load generators overload two gateways with one limit: h2load over HTTP/2 at one, wrk
// over HTTP/1.1 at the other. What both are granted never exceeds burst + rate × t, and is at least
// 95 % of it.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { run } from "../outside/tools.js";
import { FULL } from "../support/full.js";
import { installation } from "../support/installation.js";
import { administrator, answered, call, start } from "../support/process.js";

const [RATE, BURST] = [500, 500];
const SECONDS = 20;

const missing = ["h2load", "wrk"].find((program) => spawnSync(program, ["--version"]).error !== undefined);
const cannot = missing === undefined ? false : `there is no ${missing} here`;
const skip = FULL ? cannot : "at full length only";

t.test("a limit of 500 calls a second over two gateways", { skip }, async (t) => {
  const data = await installation(t.testdir());
  const authority = await start(["authority"], { PORTICO_DATA: data });
  t.teardown(() => authority.stop());
  const env = { PORTICO_DATA: data, PORTICO_AUTHORITY: authority.address("gRPC") };
  const roles = await Promise.all(
    [["gateway"], ["gateway"], ["service", "helloworld"]].map((role) => start(role, env)),
  );
  for (const role of roles) t.teardown(() => role.stop());
  const [first, second] = roles.map((role) => role.address("HTTP")) as [string, string];
  const admin = await administrator(first, data);
  for (const gateway of [first, second]) {
    await answered(() => call(`${gateway}/v1/helloworld/call`, { name: "Ada" }, admin), 200);
  }
  const limit = {
    id: "shared",
    rate: `${RATE}/s`,
    burst: `${BURST}`,
    per: "EVERYONE",
    resource: "service:helloworld:*",
  };
  const began = performance.now();
  t.equal((await call(`${first}/auth/limits.create`, { limit }, admin)).status, 200);
  const [byH2load, byWrk] = await Promise.all([
    h2load(first, admin.authorization, data),
    wrk(second, admin.authorization, data),
  ]);
  const seconds = (performance.now() - began) / 1_000;
  const granted = byH2load.granted + byWrk.granted;
  const all = byH2load.all + byWrk.all;
  t.comment(`${granted} of ${all} calls granted in ${seconds.toFixed(2)} s`, { byH2load, byWrk });
  t.ok(granted <= BURST + RATE * seconds, `${granted} in ${seconds} s are within the bound`);
  // The generators are started and stopped within `seconds`. A busy machine may make too few calls.
  const least = BURST + RATE * SECONDS;
  if (all > 2 * least) t.ok(granted >= 0.95 * least, `${granted} in ${SECONDS} s are almost all of it`);
  t.ok(byH2load.granted > 0 && byWrk.granted > 0, "both are granted calls");
});

interface Counts {
  readonly granted: number;
  readonly all: number;
}

/** 600 calls a second. */
async function h2load(gateway: string, token: string, folder: string): Promise<Counts> {
  const body = join(folder, "body.json");
  writeFileSync(body, '{"name":"Ada"}');
  const headers = ["-H", `authorization: ${token}`, "-H", "content-type: application/json"];
  const load = ["-D", `${SECONDS}`, "-c10", "-m10", "--rps=60", "-d", body];
  const { output } = await run("h2load", [...load, ...headers, `${gateway}/v1/helloworld/call`]);
  const [, granted, refused, failed] = /status codes: (\d+) 2xx, \d+ 3xx, (\d+) 4xx, (\d+) 5xx/.exec(output) ?? [];
  if (granted === undefined) throw new Error(`h2load printed ${output}`);
  return { granted: Number(granted), all: Number(granted) + Number(refused) + Number(failed) };
}

/** As many calls as two connections make. */
async function wrk(gateway: string, token: string, folder: string): Promise<Counts> {
  const script = join(folder, "call.lua");
  writeFileSync(
    script,
    `wrk.method, wrk.body = "POST", '{"name":"Ada"}'
     wrk.headers["content-type"], wrk.headers["authorization"] = "application/json", "${token}"`,
  );
  const load = ["-t1", "-c2", `-d${SECONDS}s`, "-s", script];
  const { output } = await run("wrk", [...load, `${gateway}/v1/helloworld/call`]);
  const [, all] = /(\d+) requests in/.exec(output) ?? [];
  const [, refused = "0"] = /Non-2xx or 3xx responses: (\d+)/.exec(output) ?? [];
  if (all === undefined) throw new Error(`wrk printed ${output}`);
  return { granted: Number(all) - Number(refused), all: Number(all) };
}
