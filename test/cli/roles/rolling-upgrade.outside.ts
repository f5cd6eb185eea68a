/**
 * A version works together with the one before it: an authority, a service and a gateway of an earlier commit are replaced one
 * after the other by this build, under load. No call fails, and a revoked key is refused at once. Needs the history in git.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { freePort } from "../../support/ports.js";
import { administrator, answered, call, type Portico, start } from "../../support/process.js";
import { until } from "../../support/until.js";

/** The last commit before guards knew several authorities. */
const PREVIOUS = "55b4479";
/** In the metrics of an instance that a gateway has called. */
const CALLED = /^portico_grpc_calls_total\{.*endpoint="helloworld:Helloworld\.Call",code="OK"\} [1-9]/m;
const folder = mkdtempSync(join(tmpdir(), "portico-previous-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

/** The program of the earlier commit; undefined where it cannot be built here. */
function buildPrevious(): string | undefined {
  try {
    const archive = join(folder, "previous.tar");
    execFileSync("git", ["archive", `--output=${archive}`, PREVIOUS], { stdio: "ignore" });
    execFileSync("tar", ["-xf", archive, "-C", folder]);
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: folder, stdio: "ignore" });
    return join(folder, "dist", "portico.js");
  } catch {
    return undefined;
  }
}

const program = buildPrevious();
const skip = program === undefined ? `commit ${PREVIOUS} is not here, or cannot be built` : false;

t.test("an authority, a service and a gateway are upgraded in turn", { skip }, async (t) => {
  const previous = { program: program! };
  // Set up by that version: it does not know all entries of a log that this one begins.
  const data = t.testdir();
  const [grpc, http] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const own = { PORTICO_DATA: data, PORTICO_GRPC: grpc, PORTICO_LEASE: "8s" };
  const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: grpc };
  const running = new Set<Portico>();
  const launch = async (...args: Parameters<typeof start>): Promise<Portico> => {
    const started = await start(...args);
    running.add(started);
    return started;
  };
  t.teardown(() => Promise.all([...running].map((portico) => portico.stop("SIGKILL"))));
  const authority = await launch(["authority"], own, ".", [], previous);
  const service = await launch(["service", "helloworld"], joined, ".", [], previous);
  const gateway = await launch(["gateway"], { ...joined, PORTICO_HTTP: http }, ".", [], previous);
  const url = gateway.address("HTTP");
  const admin = await administrator(url, data);
  const ask = (at: string, headers: Record<string, string>) =>
    call(`${at}/v1/helloworld/Call`, { name: "Ada" }, headers);
  const hello = async (at: string, headers: Record<string, string>): Promise<number> => (await ask(at, headers)).status;
  await answered(() => ask(url, admin), 200);

  const statuses = new Map<number, number>();
  let over = false;
  const load = (async () => {
    while (!over) {
      const status = await hello(url, admin);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await sleep(10);
    }
  })();
  const revoke = async (at: string): Promise<void> => {
    const { body } = await call(`${at}/v1/auth/Keys/Create`, { name: "short" }, admin);
    const { secret, key } = body as { secret: string; key: { prefix: string } };
    const headers = { authorization: `Bearer ${secret}` };
    t.equal(await hello(at, headers), 200, "a new key is valid");
    t.equal((await call(`${at}/v1/auth/Keys/Revoke`, { prefix: key.prefix }, admin)).status, 200);
    t.equal(await hello(at, headers), 401, "a revoked one is not");
  };
  await revoke(url);
  await authority.stop();
  await launch(["authority"], own);
  await answered(() => call(`${url}/auth/WhoAmI`, {}, admin), 200);
  await revoke(url);
  const next = await launch(["service", "helloworld"], joined);
  await until(async () => CALLED.test(await (await fetch(next.address("Metrics"))).text()));
  await service.stop();
  await revoke(url);
  const other = await launch(["gateway"], joined);
  await answered(() => ask(other.address("HTTP"), admin), 200);
  await revoke(other.address("HTTP"));
  over = true;
  await load;
  t.same([...statuses.keys()], [200], JSON.stringify([...statuses]));
  t.equal(next.child.exitCode, null);
});
