/** Why a process refuses calls, in words for its operator. */

import type { OpenGuard } from "../../src/access/guard.js";
import { formatGrpcTarget, type GrpcTarget } from "../../src/address.js";
import { Code, StatusError } from "../../src/errors.js";

/**
 * @param missing the names of the parts that are not there
 * @param authority where it is another process
 * @returns undefined where calls are not refused
 */
export function whyNotReady(missing: readonly string[], guard: OpenGuard, authority?: GrpcTarget): string | undefined {
  const [first] = missing;
  if (first === undefined) return undefined;
  if (first !== "guard") return `the ${first} has not arrived yet`;
  const who = authority === undefined ? "the authority" : `the authority at ${formatGrpcTarget(authority)}`;
  return `${who} ${howItFailed(guard.fault)}`;
}

function howItFailed(fault: unknown): string {
  if (fault === undefined) return "has not answered yet";
  if (!(fault instanceof StatusError)) return `was not understood: ${fault instanceof Error ? fault.message : fault}`;
  const { code, message, cause } = fault;
  if (code === Code.UNAUTHENTICATED || code === Code.PERMISSION_DENIED) {
    return `does not accept the enrolment token of this process (${message})`;
  }
  // Ended by this side: pings were not answered.
  if (code === Code.CANCELLED) return "does not answer";
  if (code === Code.UNAVAILABLE && cause instanceof Error) return `cannot be reached: ${cause.message}`;
  return `failed: ${message}`;
}
