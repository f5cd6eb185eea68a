/**
 * This build works together with the build of an earlier commit, which does not report the
 * restrictions that it understands. This build refuses the store of the earlier one. Needs the git
 * history.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { freePort } from "../../support/ports.js";
import { administrator, answered, call, type Portico, refused, start } from "../../support/process.js";
import { until } from "../../support/until.js";

/** The last commit before guards reported the restrictions that they understand. */
const PREVIOUS = "97c412b9";
/** Matches the metrics of an instance that a gateway has called. */
const CALLED = /^portico_grpc_calls_total\{.*endpoint="helloworld:Helloworld\.Call",code="OK"\} [1-9]/m;
const LIMITED = { name: "deploy", resources: ["service:helloworld:Helloworld.Call"] };
const folder = mkdtempSync(join(tmpdir(), "portico-previous-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

/** The program of the earlier commit, or undefined if it cannot be built here. */
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
const previous = { program: program! };

type Start = Parameters<typeof start>;

/** Starts an authority of this build. Processes of any build can join it. */
async function setting(t: Test) {
  const data = t.testdir();
  const grpc = `127.0.0.1:${await freePort()}`;
  const launch = async (...args: Start): Promise<Portico> => {
    const started = await start(...args);
    t.teardown(() => started.stop("SIGKILL"));
    return started;
  };
  await launch(["authority"], { PORTICO_DATA: data, PORTICO_GRPC: grpc, PORTICO_LEASE: "3s" });
  const joined = { PORTICO_DATA: data, PORTICO_AUTHORITY: grpc };
  const join = (role: Start[0], build: Start[4] = {}) => launch(role, joined, ".", [], build);
  return { data, join };
}

const hello = (at: Portico, headers: Record<string, string>) =>
  call(`${at.address("HTTP")}/v1/helloworld/Call`, { name: "Ada" }, headers);

t.test("a service and a gateway are upgraded in turn, and no call fails", { skip }, async (t) => {
  const { data, join } = await setting(t);
  const service = await join(["service", "helloworld"], previous);
  const gateway = await join(["gateway"], previous);
  const admin = await administrator(gateway.address("HTTP"), data);
  await answered(() => hello(gateway, admin), 200);
  const statuses = new Map<number, number>();
  let over = false;
  const load = (async () => {
    while (!over) {
      const { status } = await hello(gateway, admin);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await sleep(10);
    }
  })();
  const revoke = async (at: Portico): Promise<void> => {
    const { body } = await call(`${at.address("HTTP")}/v1/auth/Keys/Create`, { name: "short" }, admin);
    const { secret, key } = body as { secret: string; key: { prefix: string } };
    const headers = { authorization: `Bearer ${secret}` };
    t.equal((await hello(at, headers)).status, 200, "a new key is valid");
    const { prefix } = key;
    t.equal((await call(`${at.address("HTTP")}/v1/auth/Keys/Revoke`, { prefix }, admin)).status, 200);
    t.equal((await hello(at, headers)).status, 401, "a revoked one is not");
  };
  await revoke(gateway);
  const next = await join(["service", "helloworld"]);
  await until(async () => CALLED.test(await (await fetch(next.address("Metrics"))).text()));
  await service.stop();
  await revoke(gateway);
  const other = await join(["gateway"]);
  await answered(() => hello(other, admin), 200);
  await revoke(other);
  over = true;
  await load;
  t.same([...statuses.keys()], [200], JSON.stringify([...statuses]));
  t.equal(next.child.exitCode, null);
});

t.test("a restriction and a lease for a guard of the earlier build exclude each other", { skip }, async (t) => {
  const { data, join } = await setting(t);
  await join(["service", "helloworld"]);
  const old = await join(["gateway"], previous);
  const admin = await administrator(old.address("HTTP"), data);
  await answered(() => hello(old, admin), 200);
  const create = (at: Portico) => call(`${at.address("HTTP")}/v1/auth/Keys/Create`, LIMITED, admin);
  const { status, body } = await create(old);
  t.equal(status, 400);
  t.match(JSON.stringify(body), /does not understand limited-keys: gateway\. Upgrade it/);
  t.equal((await hello(old, admin)).status, 200, "it goes on");
  await old.stop();
  const gateway = await join(["gateway"]);
  const created = await create(gateway);
  t.equal(created.status, 200, JSON.stringify(created.body));
  const { secret, key } = created.body as { secret: string; key: { prefix: string } };
  await answered(() => hello(gateway, { authorization: `Bearer ${secret}` }), 200);
  const late = await join(["gateway"], previous);
  await until(() => /this guard gets no lease: .*\(limited-keys\)/.test(late.output() + late.errors()), {
    what: () => `the late gateway says why it has no lease; it printed ${late.output()}${late.errors()}`,
  });
  t.equal((await hello(late, admin)).status, 503);
  const readiness = await fetch(late.address("Metrics").replace("/metrics", "/readyz"));
  t.match(await readiness.text(), /this guard gets no lease: .*\(limited-keys\)/);
  const { prefix } = key;
  t.equal((await call(`${gateway.address("HTTP")}/v1/auth/Keys/Revoke`, { prefix }, admin)).status, 200);
  await answered(() => hello(late, admin), 200);
});

t.test("a gateway of the earlier build does not decide by a disabled rule", { skip }, async (t) => {
  const { data, join } = await setting(t);
  await join(["service", "helloworld"]);
  const old = await join(["gateway"], previous);
  const admin = await administrator(old.address("HTTP"), data);
  await answered(() => hello(old, admin), 200);
  const anyone = { id: "default", scope: "<public>", access: "GRANTED", resource: "*:*:*" };
  const closed = { ...anyone, id: "closed", access: "DENIED", priority: 7 };
  const change = async (endpoint: string, rule: object) => {
    const { status, body } = await call(`${old.address("HTTP")}/v1/auth/Rules/${endpoint}`, { rule }, admin);
    t.equal(status, 200, JSON.stringify(body));
  };
  const anonymous = (at: Portico) => call(`${at.address("HTTP")}/helloworld/Call`, { name: "Ada" });
  const status = async (at: Portico) => (await anonymous(at)).status;

  await change("Create", { ...closed, disabled: true });
  t.equal(await status(old), 200, "a denial that is created disabled denies nothing");
  await change("Set", closed);
  t.equal(await status(old), 401, "switched on, it denies");
  await change("Set", { ...closed, disabled: true });
  t.equal(await status(old), 200, "switched off again, it does not");
  await change("Set", { ...anyone, disabled: true });
  t.equal(await status(old), 401, "a disabled rule grants nothing");
  const late = await join(["gateway"], previous);
  await answered(() => anonymous(late), 401);
  await change("Set", anyone);
  t.same([await status(old), await status(late)], [200, 200]);
});

t.test("a store of the earlier build is refused, and stays unchanged", { skip }, async (t) => {
  const data = t.testdir();
  const before = await start(["authority"], { PORTICO_DATA: data }, ".", [], previous);
  await before.stop();
  const hashes = () =>
    readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => {
        const bytes = readFileSync(join(parentPath, name));
        return [join(parentPath, name), createHash("sha256").update(bytes).digest("hex")];
      });
  const found = hashes();
  for (const role of ["authority", "server"]) {
    const { code, output } = await refused([role], { PORTICO_DATA: data });
    t.equal(code, 1);
    t.match(
      output,
      /store .*portico\.sqlite was written before Portico's first release: .*; run the build that wrote it, or start/,
    );
    t.same(hashes(), found);
  }
  const again = await start(["authority"], { PORTICO_DATA: data }, ".", [], previous);
  t.equal(await again.stop(), 0, "that build goes on with it");
});
