/** What bounds a call of a service. */
import type { Config } from "../config/config.js";
import type { MethodDefinition } from "./definition.js";

/** `maxBody` is that of a request message: the caller's end has its own limit for responses. */
export type CallLimits = Pick<Config, "maxBody" | "callTime" | "maxCallTime">;

/**
 * When a call must have ended. A unary call always has a deadline, a stream only one that is asked for.
 * @param asked as `arrived` and the deadline, in milliseconds of `performance.now()`
 */
export function deadlineOf(
  { requestStream, responseStream }: Pick<MethodDefinition<never, never>, "requestStream" | "responseStream">,
  asked: number | undefined,
  arrived: number,
  { callTime, maxCallTime }: CallLimits,
): number {
  if (requestStream || responseStream) return asked ?? Number.POSITIVE_INFINITY;
  return Math.min(asked ?? arrived + callTime, arrived + maxCallTime);
}
