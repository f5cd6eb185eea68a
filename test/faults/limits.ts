/**
 * Faults while a limit of calls is used up at two gateways. Together they must never grant more
 * than its burst and its rate.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { excess } from "../limits/bound.js";
import { Administrator, type Cluster, GREET } from "./cluster.js";
import type { Fault, Figures } from "./fault.js";
import { Load, type Sample } from "./load.js";
import type { Safeguard } from "./variant.js";

/** The burst is more than what is added while an authority starts, so that it must not be full. */
const RATE = { perSecond: 100, burst: 400 };
/** Calls that may be under way at both gateways: a response comes after its call was counted. */
const UNDER_WAY = 8;

const startsEmpty: Safeguard = {
  name: "a lender that starts has an empty bucket",
  file: "services/auth/limits/lender.ts",
  edits: [["Math.max(since + pause, this.#notBefore);", "FULL;"]],
};

type Act = (it: {
  readonly cluster: Cluster;
  readonly edge: { signal(signal: NodeJS.Signals): void };
}) => Promise<void>;

/** Uses up a limit at both gateways, and causes a fault. */
async function useUp(cluster: Cluster, act: Act): Promise<Figures> {
  await cluster.externalService();
  await cluster.authority();
  const near = await cluster.near();
  const edge = await cluster.edge();
  await cluster.responses(near, GREET);
  await cluster.responses(edge, GREET);
  const admin = await Administrator.login(near, cluster.data);
  await admin.createLimit({ id: "shared", per: "EVERYONE", rate: "100/s", burst: `${RATE.burst}` });
  const loads = [near, edge].map((gateway) => new Load(gateway.address("HTTP"), GREET));
  try {
    await Promise.all(loads.map((load) => load.until((status) => status === 429)));
    const began = performance.now();
    await act({ cluster, edge: { signal: (signal) => edge.child.kill(signal) } });
    const ended = performance.now();
    const back = await loads[0]!.until((status) => status === 200);
    await sleep(2_000);
    const samples = (await Promise.all(loads.map((load) => load.stop()))).flat();
    const granted = samples.filter(({ status }) => status === 200).map((sample) => sample.ended);
    return {
      calls: samples.length,
      failed: samples.filter((sample) => sample.ended < began && !isResponse(sample)).length,
      wrongful: Math.max(0, Math.floor(excess(granted, RATE)) - UNDER_WAY),
      recovered: back.ended - ended,
    };
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
  }
}

function isResponse({ status }: Sample): boolean {
  return status === 200 || status === 429;
}

function fault(title: string, safeguards: readonly Safeguard[], act: Act): Fault {
  return { title, lease: "2s", safeguards, run: (cluster) => useUp(cluster, act) };
}

export const LIMITS: readonly Fault[] = [
  fault("the authority is killed and started", [startsEmpty], async ({ cluster }) => {
    await cluster.restartAuthority();
    await sleep(2_000);
  }),
  fault("a gateway is stopped (SIGSTOP) for 2.5 s", [], async ({ edge }) => {
    edge.signal("SIGSTOP");
    await sleep(2_500);
    edge.signal("SIGCONT");
  }),
  fault("a gateway is cut off from the authority for 3 s", [], async ({ cluster }) => {
    await cluster.options.network.cut("both");
    await sleep(3_000);
    await cluster.options.network.mend();
  }),
];
