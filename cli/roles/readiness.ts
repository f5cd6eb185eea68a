/** Whether a process can serve calls, and why not: in words for its operator, and as gRPC health. */
import type { OpenGuard } from "../../src/access/guard.js";
import { formatGrpcTarget, type GrpcTarget } from "../../src/address.js";
import { Code, StatusError } from "../../src/errors.js";
import type { Dispatcher } from "../../src/rpc/dispatch.js";
import type { Shutdown } from "./shutdown.js";

/** How often gRPC health is brought up to date, in milliseconds. */
const HEALTH_INTERVAL_MS = 500;
/** How long a start waits for the authority before it goes on without it, in milliseconds. */
const AUTHORITY_WAIT_MS = 3_000;

/**
 * Why a process refuses calls.
 * @param missing names of the parts that are not ready; `guard` is the one that follows the authority
 * @param authority its address, where it is another process
 * @returns undefined where calls are not refused
 */
export function whyNotReady(missing: readonly string[], guard: OpenGuard, authority?: GrpcTarget): string | undefined {
  const [first] = missing;
  if (first === undefined) return undefined;
  if (first !== "guard") return `the ${first} has not arrived yet`;
  const who = authority === undefined ? "the authority" : `the authority at ${formatGrpcTarget(authority)}`;
  return `${who} ${faultInWords(guard.fault)}`;
}

function faultInWords(fault: unknown): string {
  if (fault === undefined) return "has not answered yet";
  if (!(fault instanceof StatusError)) return `was not understood: ${fault instanceof Error ? fault.message : fault}`;
  const { code, message, cause } = fault;
  if (code === Code.UNAUTHENTICATED || code === Code.PERMISSION_DENIED) {
    return `does not accept the enrolment token of this process (${message})`;
  }
  // This side cancels a stream on which pings were not answered.
  if (code === Code.CANCELLED) return "does not answer";
  if (code === Code.UNAVAILABLE && cause instanceof Error) return `cannot be reached: ${cause.message}`;
  return `failed: ${message}`;
}

/** Keeps gRPC health equal to `/readyz`: a process whose guard cannot decide does not serve. */
export function keepGrpcHealth(shutdown: Shutdown, dispatcher: Dispatcher, guard: OpenGuard): void {
  let stopping = false;
  const update = () => {
    dispatcher.health.serving = !stopping && guard.state === "ready";
  };
  const timer = setInterval(update, HEALTH_INTERVAL_MS);
  shutdown.add(() => clearInterval(timer));
  shutdown.onBegin(() => {
    stopping = true;
    update();
  });
  update();
}

/** Waits for what the authority sends, for three seconds at most. */
export async function waitForAuthority(ready: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, AUTHORITY_WAIT_MS);
  });
  await Promise.race([ready, late]);
  clearTimeout(timer);
}
