/**
 * Starts a system: first the programs behind the gateway. Each program is started when the one
 * before it listens.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { launch } from "./processes.js";
import type { System } from "./systems.js";

/** Maximum time until a system's first response, in milliseconds. */
const PATIENCE = 20_000;

/**
 * @param children receives the processes, in the order of the programs.
 * @param responses sends a call, and returns whether its response was right
 * @returns milliseconds from the start of the process that callers connect to until its first
 * response. The programs behind it are running already
 */
export async function start(
  { name, programs }: System,
  children: ChildProcess[],
  responses: () => Promise<boolean>,
): Promise<number> {
  for (const program of programs.slice(0, -1)) {
    children.push(launch(program));
    await listens(program.port);
  }
  const begin = performance.now();
  children.push(launch(programs.at(-1)!));
  await until(name, responses);
  return performance.now() - begin;
}

function listens(port: number): Promise<void> {
  return until(`port ${port}`, async () => {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return true;
    } finally {
      socket.destroy();
    }
  });
}

/** Asks again every few milliseconds. */
async function until(what: string, happens: () => Promise<boolean>): Promise<void> {
  let cause: unknown;
  for (const late = Date.now() + PATIENCE; ; ) {
    try {
      if (await happens()) return;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > late) throw new Error(`${what}: no answer within ${PATIENCE} ms`, { cause });
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}
