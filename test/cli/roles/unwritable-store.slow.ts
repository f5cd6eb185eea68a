// While the store cannot be written, changes fail and calls succeed. The server recovers by itself.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import KeyvSqlite from "@keyv/sqlite";
import t, { type Test } from "tap";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";

/** Long enough for a guard to hear from the authority within it on a busy machine. */
const LEASE = 1_500;

/** Makes the store of a running process unwritable. The returned function reverses this. */
type Fault = (data: string, pid: number) => Promise<() => Promise<unknown>>;

const FAULTS: Record<string, Fault> = {
  "locked by another process": async (data) => {
    const other = new KeyvSqlite(`sqlite://${join(data, "portico.sqlite")}`);
    await other.query("BEGIN IMMEDIATE");
    return () => other.query("ROLLBACK").then(() => other.close());
  },
  // Every write to a file fails with EFBIG, which SQLite treats as a full disk.
  "on a full disk": async (_data, pid) => {
    const limit = (bytes: string) => execFileSync("prlimit", ["--pid", `${pid}`, `--fsize=${bytes}:unlimited`]);
    limit("0");
    return async () => limit("unlimited");
  },
};

async function check(t: Test, error: Fault): Promise<void> {
  const data = await installation(t.testdir());
  const portico = await start(["server"], {
    PORTICO_DATA: data,
    PORTICO_LEASE: `${LEASE}ms`,
    PORTICO_LOG_LEVEL: "silent",
  });
  t.teardown(() => portico.stop("SIGKILL"));
  const http = portico.address("HTTP");
  const admin = await administrator(http, data);
  const fresh = await administrator(http, data);
  const rule = { id: "new", scope: "*", access: "GRANTED", resource: "*:*:*" };
  const create = () => call(`${http}/v1/auth/Rules/Create`, { rule }, admin);

  const end = await error(data, portico.child.pid ?? 0);
  const changing = create();
  const until = performance.now() + 3 * LEASE;
  const statuses = new Set<number>();
  while (performance.now() < until) {
    statuses.add((await call(`${http}/helloworld/call`, { name: "Ada" })).status);
    statuses.add((await call(`${http}/v1/helloworld/Call`, { name: "Ada" }, admin)).status);
    await sleep(20);
  }
  t.same([...statuses], [200], "calls are answered for several leases");
  t.equal(
    (await call(`${http}/v1/helloworld/Call`, { name: "Ada" }, fresh)).status,
    200,
    "a token is looked up without a write",
  );
  const refused = await changing;
  t.equal(refused.status, 503);
  t.match(refused.body, { Code: 503, Detail: "The authority's store does not respond; try again" });
  await end();
  const late = performance.now() + 8_000;
  let again = await create();
  while (again.status !== 200 && performance.now() < late) again = await create();
  t.equal(again.status, 200, "changes are made again by themselves");
}

for (const [what, error] of Object.entries(FAULTS)) {
  const skip = what === "on a full disk" && process.platform !== "linux" && "prlimit is Linux's";
  t.test(`changes fail and calls succeed while the store is ${what}`, { skip }, (t) => check(t, error));
}
