/** What the authority knows of the use of limits: its lender has it, or another authority. */
import type { RevisedLimit } from "../../../src/limits/limit-set.js";

/** How many calls may come now, by each part of a limit; undefined where that is not known. */
export interface Left {
  readonly rate?: number | undefined;
  readonly quota?: number | undefined;
  readonly concurrent?: number | undefined;
}

/**
 * How many calls a limit has refused, or would have refused, and since when it is counted, in
 * milliseconds since 1970.
 */
export interface RefusedCalls {
  readonly refused: number;
  readonly since: number;
}

export interface LimitUses {
  /** @param namespace of the limit */
  refusedOf(namespace: string, id: string): RefusedCalls | Promise<RefusedCalls>;

  /**
   * What is left for one subject.
   * @param namespace of the limit
   * @param subject who shares the limit; empty for everyone
   */
  left(namespace: string, limit: RevisedLimit, subject: string): Left | Promise<Left>;
}
