/** Starts the processes of the systems, watches them through /proc, and stops them. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

/** A process to start. */
export interface Program {
  /** The process's role in its system: `gateway`, `service`, `authority`. */
  readonly role: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Kernel ticks per second. /proc counts processor time in ticks. */
const TICKS = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/**
 * Processor time that a process has used in user and kernel mode, in microseconds
 * (proc_pid_stat(5), utime and stime).
 */
export function processorTime(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name, in parentheses, may contain any character. The fields after it begin with the third
  // one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[14 - 3]) + Number(fields[15 - 3])) / TICKS) * 1e6;
}

/** Resident memory of a process in MiB: now, and the maximum so far. */
export function memory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const read = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

/** Processes that `launch` started and that have not ended. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/**
 * Starts a process. It ends with this process at the latest. Its stderr is stored for the error
 * text, in case it ends by itself.
 */
export function launch({ role, command, args, env }: Program): ChildProcess {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: "production", ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.add(child);
  let errors = "";
  child.stderr!.setEncoding("utf8").on("data", (text) => {
    errors = (errors + text).slice(-2_000);
  });
  child.on("exit", (code, signal) => {
    running.delete(child);
    if (signal === null) console.error(`${role} (${command} ${args.join(" ")}) ended with ${code}:\n${errors}`);
  });
  return child;
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

/**
 * Below the ports that operating systems use for outgoing connections. Such a connection could take
 * a port before its server does.
 */
let nextPort = 20_000 + (process.pid % 1_000) * 10;

/** A port of 127.0.0.1 on which no process listens. Never returns the same port twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort++;
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

/** Whether a program is on the PATH. */
export function isInstalled(program: string): boolean {
  try {
    execFileSync("which", [program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
