/** Limits the memory of a server with the means of the operating system. */
import { type ChildProcess, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { memory } from "./processes.js";

export const LIMIT_MIB = 768;
const LIMIT_BYTES = LIMIT_MIB * 1024 ** 2;
const WATCH_MS = 100;
const CGROUPS = "/sys/fs/cgroup";
/** The parent folder of the group in each version of cgroups, and the files that limit it. */
const VERSION_1 = { parent: join(CGROUPS, "memory"), limits: { "memory.limit_in_bytes": `${LIMIT_BYTES}` } };
const VERSION_2 = { parent: CGROUPS, limits: { "memory.max": `${LIMIT_BYTES}`, "memory.swap.max": "0" } };

export interface MemoryLimit {
  /** Words that precede the command that is limited. */
  readonly before: readonly string[];
  /** Whether the kernel enforces the limit. */
  readonly isEnforced: boolean;
  says(mib: number): string;
  end(): void;
}

const SCOPE = ["systemd-run", "--scope", "--quiet", "-p", `MemoryMax=${LIMIT_BYTES}`, "-p", "MemorySwapMax=0"];

/** The limit for one process. */
export function limitMemory(): MemoryLimit {
  const [systemdRun, ...args] = SCOPE as [string, ...string[]];
  if (spawnSync(systemdRun, [...args, "true"], { timeout: 5_000 }).status === 0) {
    const says = (mib: number) => `${mib} MiB by systemd-run`;
    return { before: SCOPE, isEnforced: true, says, end: () => undefined };
  }
  return limitByCgroup() ?? watched();
}

function limitByCgroup(): MemoryLimit | undefined {
  const { parent, limits } = existsSync(join(CGROUPS, "cgroup.controllers")) ? VERSION_2 : VERSION_1;
  const group = join(parent, `portico-neighbours-${process.pid}`);
  try {
    mkdirSync(group);
    for (const [file, value] of Object.entries(limits)) writeFileSync(join(group, file), value);
  } catch {
    removeGroup(group);
    return undefined;
  }
  const join_ = `echo $$ > '${group}/cgroup.procs' && exec "$@"`;
  const says = (mib: number) => `${mib} MiB by a cgroup`;
  return { before: ["sh", "-c", join_, "sh"], isEnforced: true, says, end: () => removeGroup(group) };
}

function removeGroup(group: string): void {
  try {
    rmdirSync(group);
  } catch {
    // It does not exist, or a process in it has not ended yet.
  }
}

function watched(): MemoryLimit {
  const says = (mib: number) => `no cgroup can be made: a server of more than ${mib} MiB is killed by this program`;
  return { before: [], isEnforced: false, says, end: () => undefined };
}

/**
 * Watches the resident memory of a process. If the kernel does not enforce the limit, it kills a
 * process above the limit.
 * @returns a function that ends the watch and returns the maximum memory in MiB
 */
export function watchMemory(child: ChildProcess, isEnforced: boolean): { end: () => number } {
  let peak = 0;
  const look = (): void => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    try {
      const { now, peak: max } = memory(child.pid as number);
      peak = Math.max(peak, max || now);
      if (!isEnforced && now > LIMIT_MIB) child.kill("SIGKILL");
    } catch {
      // The process has ended in the meantime.
    }
  };
  const timer = setInterval(look, WATCH_MS);
  return {
    end: () => {
      clearInterval(timer);
      look();
      return peak;
    },
  };
}
