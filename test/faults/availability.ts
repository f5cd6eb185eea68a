/** Faults during which calls continue, or after which they succeed again without help. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import KeyvSqlite from "@keyv/sqlite";
import type { Portico } from "../support/process.js";
import { Administrator, type Cluster, HELLO } from "./cluster.js";
import type { Fault, Figures } from "./fault.js";
import { failed, Load, type Sample } from "./load.js";

const LEASE = 2_000;
const SHORT = `${LEASE / 1_000}s`;
/** The default of PORTICO_LEASE. */
const USUAL = "5s";

interface Running {
  readonly authority: Portico;
  readonly near: Portico;
  readonly service: Portico;
  readonly admin: Administrator;
}

/** Calls through a gateway while `act` runs, and afterwards until calls are granted again. */
async function callDuring(
  cluster: Cluster,
  act: (running: Running) => Promise<void>,
  env: Record<string, string> = {},
): Promise<Figures> {
  const authority = await cluster.authority(env);
  const near = await cluster.near();
  const service = await cluster.service();
  const admin = await Administrator.login(near, cluster.data);
  await cluster.responses(near);
  const load = new Load(near.address("HTTP"), HELLO);
  try {
    await load.until((status) => status === 200);
    const began = performance.now();
    await act({ authority, near, service, admin });
    const over = performance.now();
    const back = await load.until((status) => status === 200);
    await sleep(LEASE);
    const samples = await load.stop();
    return {
      calls: samples.length,
      failed: failed(samples).length,
      wrongful: 0,
      gap: longestGap(samples, began),
      recovered: back.ended - over,
    };
  } finally {
    await load.stop();
  }
}

function longestGap(samples: readonly Sample[], from: number): number {
  let last = from;
  let longest = 0;
  const granted = samples.filter(({ status, ended }) => status === 200 && ended > from).map(({ ended }) => ended);
  for (const moment of granted.sort((a, b) => a - b)) {
    longest = Math.max(longest, moment - last);
    last = moment;
  }
  return longest;
}

const killed: Fault = {
  title: "the authority is killed (SIGKILL) and starts again 1.5 s later",
  lease: USUAL,
  safeguards: [],
  run: (cluster) =>
    callDuring(cluster, async ({ authority }) => {
      await authority.stop("SIGKILL");
      await sleep(1_500);
      await cluster.authority();
    }),
};

const restarted: Fault = {
  title: "the authority is stopped (SIGTERM) and starts again 1.5 s later",
  lease: USUAL,
  safeguards: [],
  run: (cluster) =>
    callDuring(cluster, async ({ authority }) => {
      await authority.stop();
      await sleep(1_500);
      await cluster.authority();
    }),
};

const away: Fault = {
  title: "the authority is away for twice the lease",
  lease: SHORT,
  mayFail: Number.POSITIVE_INFINITY,
  safeguards: [],
  run: (cluster) =>
    callDuring(cluster, async ({ authority }) => {
      await authority.stop("SIGKILL");
      await sleep(2 * LEASE);
      await cluster.authority();
    }),
};

/** Makes a change that must be refused. It must neither hang nor be reported as done. */
async function refusedChange(admin: Administrator): Promise<void> {
  const status = await admin.createRule("while-it-fails");
  if (status !== 503) throw new Error(`a change that cannot be written was answered by ${status}`);
}

async function changeAgain(admin: Administrator): Promise<void> {
  const until = performance.now() + 15_000;
  let status = 0;
  for (let number = 0; performance.now() < until; number++) {
    status = await admin.createRule(`afterwards-${number}`);
    if (status === 200) return;
    await sleep(100);
  }
  throw new Error(`changes are still answered by ${status}`);
}

const fullDisk: Fault = {
  title: "the disk of the store is full for three leases",
  lease: SHORT,
  safeguards: [],
  skip() {
    try {
      execFileSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"], { stdio: "ignore" });
      return undefined;
    } catch {
      return "no right to mount a small file system";
    }
  },
  async run(cluster) {
    const small = join(cluster.options.folder, "small");
    mkdirSync(small);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "none", small]);
    try {
      const store = `sqlite:${join(small, "portico.sqlite")}`;
      return await callDuring(
        cluster,
        async ({ admin }) => {
          const filler = join(small, "filler");
          for (let size = 8 * 2 ** 20; size >= 512; size /= 2) fill(`${filler}-${size}`, size);
          await refusedChange(admin);
          await sleep(3 * LEASE);
          for (let size = 8 * 2 ** 20; size >= 512; size /= 2) rmSync(`${filler}-${size}`, { force: true });
          await changeAgain(admin);
        },
        { PORTICO_STORE: store },
      );
    } finally {
      await cluster.stop();
      execFileSync("umount", ["-l", small]);
    }
  },
};

function fill(file: string, size: number): void {
  try {
    writeFileSync(file, Buffer.alloc(size));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

const lockedStore: Fault = {
  title: "another program holds the store's write lock for three leases",
  lease: SHORT,
  safeguards: [],
  run: (cluster) =>
    callDuring(cluster, async ({ admin }) => {
      const other = new KeyvSqlite(`sqlite://${join(cluster.data, "portico.sqlite")}`);
      await other.query("BEGIN IMMEDIATE");
      const refused = refusedChange(admin);
      await sleep(3 * LEASE);
      await refused;
      await other.query("ROLLBACK");
      await other.close();
      await changeAgain(admin);
    }),
};

function oneOfTwo(title: string, signal: NodeJS.Signals, mayFail: number): Fault {
  return {
    title,
    lease: USUAL,
    mayFail,
    safeguards: [],
    run: (cluster) =>
      callDuring(cluster, async ({ near }) => {
        const other = await cluster.service();
        await cluster.instances(near, 2);
        other.child.kill(signal);
        await sleep(15_000);
      }),
  };
}

export const AVAILABILITY: readonly Fault[] = [
  killed,
  restarted,
  away,
  fullDisk,
  lockedStore,
  oneOfTwo("one of two instances of a service is killed", "SIGKILL", 4),
  oneOfTwo("one of two instances of a service hangs (SIGSTOP) for 15 s", "SIGSTOP", 8),
];
