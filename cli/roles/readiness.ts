/** Why a process cannot serve calls, in words for its operator. */
import type { OpenGuard } from "../../src/access/guard.js";
import { formatGrpcTarget, type GrpcTarget } from "../../src/address.js";
import { Code, StatusError } from "../../src/errors.js";

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
