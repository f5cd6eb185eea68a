/**
 * Faults while a limit of calls is used up at two gateways. Together they must never grant more
 * than its burst and its rate.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { excess } from "../limits/bound.js";
import { Clock, noClocks } from "./clocks.js";
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

const fillsByMonotonicClock: Safeguard = {
  name: "buckets fill by the monotonic clock",
  file: "services/auth/authority.ts",
  edits: [
    [
      "new Lender({ journal, settled, store, id, maxCallMs, log, now })",
      "new Lender({ journal, settled, store, id, maxCallMs, log, now: Date.now })",
    ],
  ],
};

type Act = (it: {
  readonly cluster: Cluster;
  readonly edge: { signal(signal: NodeJS.Signals): void };
  readonly clocks: Clocks;
}) => Promise<void>;

/** Of the authority, and of the gateway near it. */
interface Clocks {
  readonly authority: Clock;
  readonly gateway: Clock;
}

/** Uses up a limit at both gateways, and causes a fault. */
async function useUp(cluster: Cluster, act: Act, setsClocks = false): Promise<Figures> {
  const clocks = clocksIn(cluster.options.folder);
  await cluster.externalService();
  await cluster.authority(setsClocks ? clocks.authority.env : {});
  const near = await cluster.near(setsClocks ? clocks.gateway.env : {});
  const edge = await cluster.edge();
  await cluster.responses(near, GREET);
  await cluster.responses(edge, GREET);
  const admin = await Administrator.login(near, cluster.data);
  await admin.createLimit({ id: "shared", per: "EVERYONE", rate: "100/s", burst: `${RATE.burst}` });
  const loads = [near, edge].map((gateway) => new Load(gateway.address("HTTP"), GREET));
  try {
    await Promise.all(loads.map((load) => load.until((status) => status === 429)));
    const began = performance.now();
    await act({ cluster, edge: { signal: (signal) => edge.child.kill(signal) }, clocks });
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

function clocksIn(folder: string): Clocks {
  return { authority: new Clock(join(folder, "authority.time")), gateway: new Clock(join(folder, "gateway.time")) };
}

/** Sets a clock back and forward, each for longer than a loan. */
async function step(clock: Clock): Promise<void> {
  for (const offset of ["-30m", "+0s", "+30m"]) {
    clock.set(offset);
    await sleep(1_200);
  }
}

function clockFault(title: string, safeguards: readonly Safeguard[], act: Act): Fault {
  return { title, lease: "2s", safeguards, skip: noClocks, run: (cluster) => useUp(cluster, act, true) };
}

const QUOTA = 500;

/** Uses up a quota at both gateways while the clocks of one and of the authority are set. */
async function useUpQuota(cluster: Cluster): Promise<Figures> {
  const clocks = clocksIn(cluster.options.folder);
  await cluster.externalService();
  await cluster.authority(clocks.authority.env);
  const gateways = [await cluster.near(clocks.gateway.env), await cluster.edge()];
  for (const gateway of gateways) await cluster.responses(gateway, GREET);
  const admin = await Administrator.login(gateways[0]!, cluster.data);
  await admin.createLimit({ id: "quota", per: "EVERYONE", quota: `${QUOTA}/month` });
  const loads = gateways.map((gateway) => new Load(gateway.address("HTTP"), GREET));
  try {
    await Promise.all([step(clocks.authority), step(clocks.gateway)]);
    await Promise.all(loads.map((load) => load.until((status) => status === 429)));
    await sleep(1_000);
    const samples = (await Promise.all(loads.map((load) => load.stop()))).flat();
    const granted = samples.filter(({ status }) => status === 200).length;
    return { calls: samples.length, failed: 0, wrongful: Math.max(0, granted - QUOTA) };
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
  }
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
  clockFault("the authority's clock is set 30 min back and forward", [fillsByMonotonicClock], ({ clocks }) =>
    step(clocks.authority),
  ),
  clockFault("a gateway's clock is set 30 min back and forward", [], ({ clocks }) => step(clocks.gateway)),
  {
    title: "both clocks are set 30 min back and forward while a quota is used up",
    lease: "2s",
    safeguards: [],
    skip: noClocks,
    run: useUpQuota,
  },
];
