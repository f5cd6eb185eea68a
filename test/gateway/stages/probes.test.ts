// Health probes of the gateway are not recorded, because a load balancer that sends one each second
// is not a caller.
import t from "tap";
import { ask, deploy } from "../deployment.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const { handler, logged, metrics, health } = deployment;

const recorded = async (): Promise<number> =>
  [...(await metrics.text()).matchAll(/^portico_requests_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );

const connect = ["Content-Type", "application/json", "Connect-Protocol-Version", "1"];
const CHECK = { method: "POST", target: "/grpc.health.v1.Health/Check", headers: connect, body: "{}" };

const cases: [what: string, request: Parameters<typeof ask>[1], status: number, counted: number][] = [
  ["/livez", { target: "/livez" }, 200, 0],
  ["/readyz", { target: "/readyz" }, 200, 0],
  ["gRPC health", CHECK, 200, 0],
  ["a request that is no probe, to its path", { method: "POST", target: "/livez" }, 405, 1],
  ["a call", { target: "/helloworld/call" }, 200, 1],
];

for (const [what, request, status, counted] of cases) {
  t.test(`${what} counts ${counted}`, async (t) => {
    const before = await recorded();
    logged.length = 0;
    t.equal((await ask(handler, request)).status, status);
    t.equal((await recorded()) - before, counted);
    t.equal(logged.length, counted);
  });
}

t.test("a probe of a gateway that is about to stop counts 0", async (t) => {
  health.leave();
  const before = await recorded();
  t.equal((await ask(handler, { target: "/readyz" })).status, 503);
  t.equal(await recorded(), before);
});
