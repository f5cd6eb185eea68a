/** The limits of a call to a service. */
import type { Config } from "../config/config.js";
import type { MethodDefinition } from "./definition.js";

/** `maxBody` limits a request message. The caller's end has its own limit for responses. */
export type CallLimits = Pick<Config, "maxBody" | "callTime" | "maxCallTime">;

/** The limits of a service that replace the limits of the process. */
export interface OwnLimits {
  /** Milliseconds. */
  readonly callTime?: number | undefined;
  /** Maximum bytes of a message. */
  readonly maxMessage?: number | undefined;
}

/**
 * When a call must have ended, in milliseconds of `performance.now()`. A unary call always has a
 * deadline. A stream has one only if its caller asks for it.
 * @param asked the deadline that the caller asks for, in milliseconds of `performance.now()`
 * @param arrived when the call arrived, in milliseconds of `performance.now()`
 */
export function deadlineOf(
  {
    requestStream,
    responseStream,
    callTime: own,
  }: Pick<MethodDefinition<never, never>, "requestStream" | "responseStream"> & OwnLimits,
  asked: number | undefined,
  arrived: number,
  { callTime, maxCallTime }: CallLimits,
): number {
  if (requestStream || responseStream) return asked ?? Number.POSITIVE_INFINITY;
  return Math.min(asked ?? arrived + (own ?? callTime), arrived + (own ?? maxCallTime));
}
