// Restarts behind a load balancer lose no call. haproxy asks /readyz, two gateways are restarted
// one after the other under load, and every call gets 200.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { installation } from "../../support/installation.js";
import { freePort } from "../../support/ports.js";
import { type Portico, start } from "../../support/process.js";

/** Connections that call without a pause. */
const CALLERS = 16;
/**
 * Much longer than haproxy takes to see that a gateway is not ready, on a machine that is busy with
 * other tests.
 */
const NOTICE = { PORTICO_DRAIN_NOTICE: "8s", PORTICO_DRAIN: "20s" };

/** Without retries, so that a call that a gateway loses is visible. */
const configuration = (port: number, gateways: readonly string[]) => `
global
  log stderr format raw local0 notice
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout check 20s
  retries 0
frontend door
  bind 127.0.0.1:${port}
  default_backend gateways
backend gateways
  option httpchk GET /readyz
  default-server check inter 200ms fall 1 rise 1
${gateways.map((address, index) => `  server gateway${index + 1} ${address}`).join("\n")}
`;

/** haproxy in front of the gateways. `said` waits for a line of its log. */
async function balance(t: Test, folder: string, gateways: readonly string[]) {
  const port = await freePort();
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, configuration(port, gateways));
  const haproxy = spawn("haproxy", ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] });
  await once(haproxy, "spawn");
  t.teardown(() => haproxy.kill("SIGKILL"));
  let log = "";
  haproxy.stderr.setEncoding("utf8").on("data", (text) => {
    log += text;
  });
  const said = async (line: RegExp): Promise<void> => {
    while (!line.test(log)) await once(haproxy.stderr, "data", { signal: AbortSignal.timeout(20_000) });
    log = "";
  };
  const isOpen = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  for (const late = Date.now() + 20_000; !(await isOpen()); ) if (Date.now() > late) throw new Error(log);
  return { url: `http://127.0.0.1:${port}`, said };
}

/** Calls until it is stopped. Returns how often each outcome occurred. */
function callers(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  const outcomes = new Map<string, number>();
  let stopping = false;
  const once = (): Promise<string> =>
    new Promise((resolve) => {
      const request = get(`${url}/helloworld/call?name=Ada`, { agent }, (response) => {
        const { statusCode } = response;
        text(response).then(
          (body) => resolve(statusCode === 200 ? "200" : `${statusCode} ${body}`),
          (error) => resolve(error.message),
        );
      });
      request.once("error", (error) => resolve(error.message));
    });
  const loop = async (): Promise<void> => {
    while (!stopping) {
      const outcome = await once();
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  const loops = Array.from({ length: CALLERS }, loop);
  return {
    outcomes,
    async stop() {
      stopping = true;
      await Promise.all(loops);
      agent.destroy();
    },
  };
}

const hasHaproxy = await once(spawn("haproxy", ["-v"], { stdio: "ignore" }), "spawn").then(
  () => true,
  () => false,
);

t.test("a restart of each of two gateways", { skip: hasHaproxy ? false : "there is no haproxy here" }, async (t) => {
  const data = await installation(t.testdir());
  // A long lease: the gateway keeps it even if the machine suspends the gateway for a long time.
  const server = await start(["server"], { PORTICO_DATA: data, PORTICO_LEASE: "60s" });
  t.teardown(() => server.stop());
  const ports = [await freePort(), await freePort()];
  const gateway = async (port: number): Promise<Portico> => {
    const env = { PORTICO_DATA: data, PORTICO_AUTHORITY: server.address("gRPC"), ...NOTICE };
    const started = await start(["gateway"], { ...env, PORTICO_HTTP: `127.0.0.1:${port}` });
    t.teardown(() => started.stop());
    return started;
  };
  const gateways = await Promise.all(ports.map(gateway));
  const { url, said } = await balance(
    t,
    data,
    ports.map((port) => `127.0.0.1:${port}`),
  );
  const load = callers(url);
  for (const [index, port] of ports.entries()) {
    const name = `gateway${index + 1}`;
    const down = said(new RegExp(`${name} is DOWN`));
    const stopped = gateways[index]!.stop();
    await down;
    t.equal(await stopped, 0);
    const up = said(new RegExp(`${name} is UP`));
    await gateway(port);
    await up;
  }
  await load.stop();
  t.same([...load.outcomes.keys()], ["200"], JSON.stringify([...load.outcomes]));
  t.comment(`${load.outcomes.get("200")} calls`);
});
