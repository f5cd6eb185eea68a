// While its clock is wrong, a process with an authority is degraded at /readyz: it responds to
// calls and refuses changes.
import { join } from "node:path";
import t, { type Test } from "tap";
import { parseAddress } from "../../../src/address/address.js";
import { Code } from "../../../src/errors.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { unary } from "../../../src/rpc/client.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { ADMIN_PASSWORD, installation } from "../../support/installation.js";
import { call, refused, start } from "../../support/process.js";
import { until } from "../../support/until.js";

/** More than a day: a clock that is wrong by at most a day is still accepted. */
const TWO_DAYS = 2 * 24 * 60 * 60_000;

/**
 * Only an administrator of the machine may set its clock. So the test changes the clock that the
 * process sees.
 * @param offsets in milliseconds: how much the clock is wrong at first, and after each signal
 * @returns options for Node
 */
function clockOff(offsets: readonly number[]): string {
  const script = `
    const offsets = ${JSON.stringify(offsets)};
    const { now } = Date;
    Date.now = () => now() + offsets[0];
    process.on("SIGUSR2", () => offsets.shift());
  `;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
}

/**
 * Both processes use this folder, one after the other. The first start writes the gRPC names of its
 * services. For this its clock must be right.
 */
const data = await installation(t.testdir());

async function startWithClock(t: Test, role: string, offsets: readonly number[]) {
  const portico = await start([role], { PORTICO_DATA: data, NODE_OPTIONS: clockOff(offsets) });
  t.teardown(() => portico.stop());
  const channel = new Http2Channel(parseAddress(portico.address("gRPC")));
  t.teardown(() => channel.close());
  const metrics = portico.address("Metrics").replace(",", "");
  const admin = new URL("/readyz", metrics).href;
  return {
    setClock: () => portico.child.kill("SIGUSR2"),
    readyz: async () => (await call(admin)).body as { readonly Status: string; readonly Reasons?: readonly string[] },
    metrics: async () => (await fetch(metrics)).text(),
    /** Makes a change. */
    login: () => unary(channel, AuthService.login, { account: "admin", password: ADMIN_PASSWORD, namespace: "" }),
    list: () => unary(channel, RegistryService.list, {}),
  };
}

type Running = Awaited<ReturnType<typeof startWithClock>>;

async function checkDegraded(t: Test, { readyz, login, metrics, list }: Running): Promise<void> {
  await until(async () => (await readyz()).Status === "degraded");
  const { Reasons = [] } = await readyz();
  t.match(Reasons, [/^its clock is wrong: it says .* and should say about .*\. Set it right/]);
  t.equal(Reasons.length, 1);
  await t.rejects(login(), { code: Code.UNAVAILABLE, message: /changes nothing while its clock is wrong/ });
  t.match(await metrics(), 'portico_changes_refused_total{reason="clock"} 1\n');
  t.ok((await list()).services.length > 0, "calls go on");
}

async function checkReady(t: Test, { readyz, login }: Running): Promise<void> {
  await until(async () => (await readyz()).Status === "ready");
  t.match(await login(), { account: "admin" });
}

t.test("portico server is degraded while its clock is two days ahead, until the clock is right again", async (t) => {
  const running = await startWithClock(t, "server", [0, TWO_DAYS, 0]);
  await checkReady(t, running);
  running.setClock();
  await checkDegraded(t, running);
  running.setClock();
  await checkReady(t, running);
});

t.test("portico authority that starts two days behind its store is degraded, until its clock is right", async (t) => {
  const running = await startWithClock(t, "authority", [-TWO_DAYS, 0]);
  await checkDegraded(t, running);
  running.setClock();
  await checkReady(t, running);
});

t.test("a start that must write is refused while the clock is wrong, and the error says what to do", async (t) => {
  const fresh = await installation(join(t.testdir(), "data"));
  const { code, output } = await refused(["authority"], { PORTICO_DATA: fresh, NODE_OPTIONS: clockOff([-TWO_DAYS]) });
  t.equal(code, 1);
  t.match(
    output,
    /^The authority changes nothing while its clock is wrong: .* start the authority with --accept-time$/m,
  );
  t.notMatch(output, /at fault| {4}at /, "no stack");
});
