/** Why a process cannot serve calls, in words for its operator. */
import type { Authority } from "../../src/access/authorities.js";
import type { OpenGuard } from "../../src/access/guard.js";
import { Code, StatusError } from "../../src/errors.js";

/**
 * Why a process refuses calls.
 * @param missing names of the parts that are not ready; `guard` is the one that follows an authority
 * @param authorities where they are other processes
 * @returns undefined where calls are not refused
 */
export function whyNotReady(
  missing: readonly string[],
  guard: OpenGuard,
  authorities: readonly Authority[] = [],
): string | undefined {
  const [first] = missing;
  if (first === undefined) return undefined;
  if (first !== "guard") return `the ${first} has not arrived yet`;
  if (authorities.length === 0) return `the authority ${faultInWords([...guard.faults.values()][0])}`;
  const each = authorities.map(({ name }) => `${name} ${faultInWords(guard.faults.get(name))}`);
  return each.length === 1 ? `the authority at ${each[0]}` : `no authority can be followed: ${each.join("; ")}`;
}

function faultInWords(fault: unknown): string {
  if (fault === undefined) return "has not answered yet";
  if (!(fault instanceof StatusError)) return `was not understood: ${fault instanceof Error ? fault.message : fault}`;
  const { code, message, cause } = fault;
  if (code === Code.UNAUTHENTICATED || code === Code.PERMISSION_DENIED) {
    return `does not accept the enrolment token of this process (${message})`;
  }
  // This side cancels a stream on which pings were not answered.
  if (code === Code.CANCELLED || code === Code.DEADLINE_EXCEEDED) return "does not answer";
  // Messages of OpenSSL have line ends.
  if (code === Code.UNAVAILABLE && cause instanceof Error) {
    return `cannot be reached: ${cause.message.replace(/\s+/g, " ").trim()}`;
  }
  return `failed: ${message}`;
}
