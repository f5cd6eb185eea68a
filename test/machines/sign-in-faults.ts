/** Faults between the machines of a cluster while people sign in: their rows in docs/faults.md. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Safeguard } from "../faults/variant.js";
import { randomOf } from "../support/random.js";
import type { Cluster, Owner } from "./cluster.js";
import { type Counts, pick, SignIns, startIssuers } from "./sign-ins.js";

/** How long a fault lasts, and the time after it, in milliseconds. A lease is three seconds. */
const FAULT_MS = [1_000, 5_000] as const;
const PAUSE_MS = [0, 2_500] as const;

interface Disturbance {
  readonly make: () => unknown;
  readonly end: () => unknown;
}

/** One of the faults, at one of the machines. */
function disturbanceOf(
  { network, authorities, gateways, databaseMachine }: Cluster,
  random: () => number,
): Disturbance {
  const [authority, gateway] = [pick(random, authorities), pick(random, gateways)];
  const cut = (...to: Parameters<typeof network.cut>): Disturbance => ({
    make: () => network.cut(...to),
    end: () => network.mend(...to),
  });
  const machines = (nodes: readonly { machine: Cluster["databaseMachine"] }[]) => nodes.map(({ machine }) => machine);
  const peers = authorities.filter((other) => other !== authority);
  return pick(random, [
    cut(authority.machine, [databaseMachine]),
    cut(authority.machine, machines(gateways)),
    cut(authority.machine, machines([...gateways, ...peers]).concat(databaseMachine)),
    cut(gateway.machine, [authority.machine]),
    cut(gateway.machine, machines(authorities)),
    { make: () => authority.stop("SIGKILL"), end: () => authority.start() },
    { make: () => authority.signal("SIGSTOP"), end: () => authority.signal("SIGCONT") },
  ]);
}

export interface SignInRun {
  readonly seconds: number;
  readonly seed: number;
}

/** Signs in while one fault follows the other. */
export async function disturb(
  owner: Owner,
  cluster: Cluster,
  { seconds, seed }: SignInRun,
): Promise<{ readonly seen: SignIns["seen"]; readonly faults: number }> {
  const random = randomOf(seed);
  const between = ([least, most]: readonly [number, number]): number => least + random() * (most - least);
  const issuer = await startIssuers(owner, cluster);
  const signIns = new SignIns({ cluster, issuer, random: randomOf(seed + 1) });
  let faults = 0;
  try {
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; faults++) {
      const { make, end: heal } = disturbanceOf(cluster, random);
      await make();
      await sleep(between(FAULT_MS));
      await heal();
      await sleep(between(PAUSE_MS));
    }
  } finally {
    await signIns.stop();
  }
  return { seen: signIns.seen, faults };
}

/** Without any one of these, something is granted wrongly, or twice. */
export const SIGN_IN_SAFEGUARDS: readonly (Safeguard & { readonly wrong: "wrongful" | "twice" })[] = [
  {
    name: "an acknowledgement waits for the leases of other authorities",
    file: "services/auth/log/leases/leases.ts",
    edits: [[", this.#leaseRecords.settled(revision)]);", "]);"]],
    wrong: "wrongful",
  },
  {
    name: "whether a code or a refresh token was used is decided again where another authority wrote first",
    file: "services/auth/oauth/exchange.ts",
    edits: [["    outcome = outcomeOf(state, request, now);\n    if", "    void state;\n    if"]],
    wrong: "twice",
  },
];

export const SIGN_IN_HEAD = [
  "| what | signed in | used at two gateways at once | both gave tokens | ended | uses after it | granted | failed |",
  "|---|---|---|---|---|---|---|---|",
];

export function signInRow(kind: string, counts: Counts): string {
  const { started, raced, twice, ended, tried, wrongful, failed } = counts;
  return `| ${[kind, started, raced, twice, ended, tried, wrongful, failed].join(" | ")} |`;
}
