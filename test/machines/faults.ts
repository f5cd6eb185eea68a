/** Faults between the machines of a cluster under load, and their rows in docs/faults.md. */
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "../support/process.js";
import { until } from "../support/until.js";
import type { Cluster, Node } from "./cluster.js";
import { Load, type Seen } from "./load.js";

/** How long a fault lasts, in milliseconds: longer than a lease, which is three seconds here. */
const DURATION = 8_000;

export interface MachineFault {
  readonly title: string;
  readonly make: (cluster: Cluster) => unknown;
  readonly end: (cluster: Cluster) => unknown;
  /** The indexes of the gateways whose calls the fault itself makes impossible. */
  readonly without?: readonly number[];
  /**
   * How many calls may fail at the other gateways: those that were under way when a process was
   * killed.
   */
  readonly mayFail?: number;
  readonly needsNamespaces?: true;
}

/** A fault affects the first process of a kind. The load makes its changes through gateway 2. */
const authority = ({ authorities }: Cluster): Node => authorities[0]!;
const gateway = ({ gateways }: Cluster): Node => gateways[0]!;
const machinesOf = (nodes: readonly Node[]) => nodes.map(({ machine }) => machine);
const others = (cluster: Cluster) => {
  const { authorities, gateways, services, databaseMachine } = cluster;
  return [...machinesOf([...authorities.slice(1), ...gateways, ...services]), databaseMachine];
};

export const MACHINE_FAULTS: readonly MachineFault[] = [
  {
    title: "an authority of three is killed, and started again",
    make: (cluster) => authority(cluster).stop("SIGKILL"),
    end: (cluster) => authority(cluster).start(),
  },
  {
    title: "an authority of three hangs (SIGSTOP)",
    make: (cluster) => authority(cluster).signal("SIGSTOP"),
    end: (cluster) => authority(cluster).signal("SIGCONT"),
  },
  {
    title: "an authority of three is cut off from every other machine",
    make: (cluster) => cluster.network.cut(authority(cluster).machine, others(cluster)),
    end: (cluster) => cluster.network.mend(authority(cluster).machine, others(cluster)),
    needsNamespaces: true,
  },
  {
    title: "an authority of three is cut off from the database alone",
    make: (cluster) => cluster.network.cut(authority(cluster).machine, [cluster.databaseMachine]),
    end: (cluster) => cluster.network.mend(authority(cluster).machine, [cluster.databaseMachine]),
    needsNamespaces: true,
  },
  {
    title: "a gateway is cut off from every authority: it refuses after its lease",
    make: (cluster) => cluster.network.cut(gateway(cluster).machine, machinesOf(cluster.authorities)),
    end: (cluster) => cluster.network.mend(gateway(cluster).machine, machinesOf(cluster.authorities)),
    without: [0],
    needsNamespaces: true,
  },
  {
    title: "an instance of a service is killed, and started again",
    make: ({ services }) => services.at(-1)!.stop("SIGKILL"),
    end: ({ services }) => services.at(-1)!.start(),
    mayFail: 5,
  },
  {
    title: "the database is killed, and started again: all refuse after their lease",
    make: ({ database }) => database.kill(),
    end: ({ database }) => database.start(),
    without: [0, 1, 2],
  },
];

/** What a fault caused. Times are in milliseconds. */
export interface Outcome {
  readonly seen: Seen;
  /** Failed calls at gateways that can respond in spite of the fault. */
  readonly failed: number;
  /** From the end of the fault until every gateway responds with success again. */
  readonly recovered: number;
}

/** Causes the fault under load, ends it, and waits until all gateways respond with success. */
export async function suffer(cluster: Cluster, fault: MachineFault): Promise<Outcome> {
  const load = new Load(cluster);
  await settled(load);
  await fault.make(cluster);
  await sleep(DURATION);
  await fault.end(cluster);
  const ended = performance.now();
  for (const { http } of cluster.gateways) {
    await until(async () => (await status(http, cluster.admin)) === 200, {
      what: () => `${http} responds again`,
      within: 60_000,
    });
  }
  const recovered = performance.now() - ended;
  await settled(load);
  const seen = await load.stop();
  const failed = seen.failed.reduce((sum, count, index) => (fault.without?.includes(index) ? sum : sum + count), 0);
  return { seen, failed, recovered };
}

/** Resolves after two more revocations. */
async function settled({ seen }: Load): Promise<void> {
  const enough = seen.acknowledged.length + 2;
  const what = () => `${enough} revocations are acknowledged: ${JSON.stringify(seen)}`;
  await until(() => seen.acknowledged.length >= enough, { what, within: 60_000 });
}

async function status(http: string, headers: Record<string, string>): Promise<number> {
  return (await call(`${http}/v1/id/Generate`, {}, headers).catch(() => ({ status: 0 }))).status;
}

export const MACHINE_HEAD = [
  "| fault, for 8 s | granted wrongly | failed calls | changes refused | acknowledged after (p50, p99, longest) | all answer again after |",
  "|---|---|---|---|---|---|",
];

export function machineRow({ title, without = [] }: MachineFault, { seen, failed, recovered }: Outcome): string {
  const sorted = seen.acknowledged.toSorted((a, b) => a - b);
  const at = (share: number): string => `${Math.round(sorted[Math.ceil((sorted.length - 1) * share)] ?? 0)} ms`;
  const where = without.length === 0 ? "" : ` at gateways that can answer`;
  const changes = `${seen.refused} of ${seen.refused + sorted.length}`;
  const times = `${at(0.5)}, ${at(0.99)}, ${at(1)}`;
  const calls = `${failed} of ${seen.calls}${where}`;
  return `| ${[title, seen.wrongful, calls, changes, times, `${Math.round(recovered)} ms`].join(" | ")} |`;
}
