/**
 * Faults during the deletion of a rule. Once the deletion is acknowledged, the rule must grant
 * nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Administrator, type Cluster, GREET } from "./cluster.js";
import type { Fault, Figures } from "./fault.js";
import { failed, grantedAfter, Load } from "./load.js";
import type { Direction } from "./network.js";
import type { Safeguard } from "./variant.js";

const LEASE = 2_000;
const SHORT = `${LEASE / 1_000}s`;

const waitForGuards: Safeguard = {
  name: "the acknowledgement waits for every guard's lease",
  file: "services/auth/log/leases/leases.ts",
  edits: [["if (waitedFor.length === 0) return;", "return;"]],
};

const leaseEnds: Safeguard = {
  name: "a guard decides nothing outside its lease",
  file: "src/access/follow/lease.ts",
  edits: [["    this.#end = ENDED;\n    return false;\n", "    return this.#end.monotonic > 0;\n"]],
};

/** Deletes the rule at one gateway while the other one is cut off from the news. */
async function deleteAtOtherGateway(
  cluster: Cluster,
  fault: { begin(): void | Promise<void>; end(): void | Promise<void> },
  lease: number,
): Promise<Figures> {
  const near = await cluster.near();
  const edge = await cluster.edge();
  const admin = await Administrator.login(near, cluster.data);
  const load = new Load(edge.address("HTTP"), GREET);
  try {
    await load.until((status) => status === 200);
    await fault.begin();
    const began = performance.now();
    const { at, took } = await admin.deletePublicRule();
    await sleep(1.5 * lease);
    await fault.end();
    const ended = performance.now();
    const back = await load.until((status) => status === 401, 30_000).catch(() => undefined);
    const samples = await load.stop();
    return {
      calls: samples.length,
      failed: failed(samples.filter(({ started }) => started < began)).length,
      wrongful: grantedAfter(samples, at).length,
      acknowledged: took,
      lastGrant: (grantedAfter(samples, began).at(-1)?.ended ?? began) - began,
      recovered: back && back.ended - ended,
    };
  } finally {
    await load.stop();
  }
}

function cutOff(direction: Direction, what: string): Fault {
  return {
    title: `a gateway is cut off from the authority (${what})`,
    lease: SHORT,
    safeguards: direction === "both" ? [waitForGuards, leaseEnds] : [],
    async run(cluster) {
      const { network } = cluster.options;
      await cluster.externalService();
      await cluster.authority();
      return deleteAtOtherGateway(cluster, { begin: () => network.cut(direction), end: () => network.mend() }, LEASE);
    },
  };
}

const streamsPause: Safeguard = {
  name: "a stream passes no message without a lease",
  file: "src/access/streams/open-streams.ts",
  edits: [["if (this.lookups === 0 && this.#streams.hasLease()) return true;", "if (this.lookups === 0) return true;"]],
};

/**
 * How long after the acknowledgement a message may still arrive that left the gateway before it, in
 * milliseconds.
 */
const MAX_DELAY_MS = 20;

const openStream: Fault = {
  title: "a gateway with an open stream is cut off from the authority (both ways)",
  lease: SHORT,
  safeguards: [streamsPause],
  async run(cluster) {
    await cluster.ticker();
    await cluster.authority();
    const near = await cluster.near();
    const edge = await cluster.edge();
    const admin = await Administrator.login(near, cluster.data);
    const messages = new Messages(`${edge.address("HTTP")}/ticker/tick`);
    await messages.next();
    cluster.options.network.cut();
    const began = performance.now();
    const { at, took } = await admin.deletePublicRule();
    await messages.ended;
    cluster.options.network.mend();
    const wrongful = messages.times.filter((time) => time > at + MAX_DELAY_MS).length;
    const { length } = messages.times;
    return {
      calls: length,
      failed: 0,
      wrongful,
      acknowledged: took,
      lastGrant: (messages.times.at(-1) ?? began) - began,
    };
  },
};

/** Records when each message of an NDJSON stream arrived. */
class Messages {
  readonly times: number[] = [];
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  #onArrival = (): void => {};

  constructor(url: string) {
    this.ended = this.#read(url);
  }

  /** Resolves when at least one message has arrived. */
  async next(): Promise<void> {
    if (this.times.length === 0) await new Promise<void>((resolve) => (this.#onArrival = resolve));
  }

  async #read(url: string): Promise<void> {
    const { body } = await fetch(url);
    for await (const bytes of body ?? []) {
      const lines = Buffer.from(bytes).toString().split("\n");
      for (const line of lines) if (line.startsWith('{"number"')) this.times.push(performance.now());
      this.#onArrival();
    }
  }
}

const stopped: Fault = {
  title: "a gateway is stopped (SIGSTOP) and goes on later",
  lease: SHORT,
  safeguards: [leaseEnds],
  async run(cluster) {
    await cluster.externalService();
    await cluster.authority();
    const near = await cluster.near();
    const edge = await cluster.edge();
    const admin = await Administrator.login(near, cluster.data);
    const load = new Load(edge.address("HTTP"), GREET);
    try {
      await load.until((status) => status === 200);
      // The gateway must not receive news of the deletion before it decides the waiting calls.
      cluster.options.network.cut();
      edge.child.kill("SIGSTOP");
      const { at, took } = await admin.deletePublicRule();
      const late = new Load(edge.address("HTTP"), GREET);
      await sleep(500);
      edge.child.kill("SIGCONT");
      await late.until((status) => status !== 200, 5_000).catch(() => undefined);
      const samples = [...(await late.stop()), ...load.samples];
      return { calls: samples.length, failed: 0, wrongful: grantedAfter(samples, at).length, acknowledged: took };
    } finally {
      await load.stop();
    }
  },
};

const shorterLease: Fault = {
  title: "the authority is killed while a gateway is cut off, and starts with a shorter lease (6 s, then 500 ms)",
  lease: "6s",
  safeguards: [
    {
      name: "a claim states how long the leases under it run",
      file: "services/auth/log/leases/lease-records.ts",
      edits: [["return Math.min(Number(value) || MAX_SPAN, MAX_SPAN);", "void value; return 525;"]],
    },
  ],
  async run(cluster) {
    const { network } = cluster.options;
    await cluster.externalService();
    let authority = await cluster.authority();
    return deleteAtOtherGateway(
      cluster,
      {
        async begin() {
          network.cut();
          await authority.stop("SIGKILL");
          authority = await cluster.authority({ PORTICO_LEASE: "500ms" });
        },
        end: () => network.mend(),
      },
      6_000,
    );
  },
};

const twoAuthorities: Fault = {
  title: "the change is made at another authority on the same store, of which the gateway hears nothing",
  lease: SHORT,
  safeguards: [
    {
      name: "the acknowledgement waits for the leases of other authorities",
      file: "services/auth/log/leases/leases.ts",
      edits: [[", this.#leaseRecords.settled(revision)]);", "]);"]],
    },
  ],
  async run(cluster) {
    const { network } = cluster.options;
    await cluster.externalService();
    await cluster.authority();
    const edge = await cluster.edge();
    const second = await cluster.secondAuthority();
    const near = await cluster.near({ PORTICO_AUTHORITY: second.address("gRPC") });
    const admin = await Administrator.login(near, cluster.data);
    const load = new Load(edge.address("HTTP"), GREET);
    try {
      await load.until((status) => status === 200);
      network.cut();
      const began = performance.now();
      const { at, took } = await admin.deletePublicRule();
      await sleep(1.5 * LEASE);
      const samples = await load.stop();
      return {
        calls: samples.length,
        failed: 0,
        wrongful: grantedAfter(samples, at).length,
        acknowledged: took,
        lastGrant: (grantedAfter(samples, began).at(-1)?.ended ?? began) - began,
      };
    } finally {
      network.mend();
      await load.stop();
    }
  },
};

export const REVOCATION: readonly Fault[] = [
  cutOff("both", "both ways"),
  cutOff("from edge", "what it sends is lost"),
  cutOff("to edge", "what it is sent is lost"),
  openStream,
  stopped,
  shorterLease,
  twoAuthorities,
];
