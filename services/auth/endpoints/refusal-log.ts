/**
 * The refused calls that gateways reported, in memory: the last 10,000 of each gateway. An
 * authority that has restarted gets them again from the gateways.
 */
import type { ReportedRefusals, ReportRefusalsRequest } from "../../../src/gen/portico/auth/v1/refusals.js";
import { BoundedMap } from "../../../src/memory/bounded-map.js";

/** Maximum number of calls of one gateway that are remembered one by one. */
const MAX_CALLS = 10_000;
/** Maximum number of gateways, also of those that have stopped. */
const MAX_REPORTERS = 100;

interface Reporter {
  readonly groups: ReportedRefusals[];
  /** The number of calls in `groups`. */
  calls: number;
  /** The number of the last group. */
  last: bigint;
}

/** The refused calls as the gateways reported them. */
export class RefusalMemory {
  readonly #reporters = new BoundedMap<string, Reporter>(MAX_REPORTERS);

  /**
   * Adds the groups of a report that `isSane` accepts, unless the report follows another one than
   * the last.
   * @returns the number of the reporter's last group
   */
  add(
    { reporter: name, after, first, groups }: ReportRefusalsRequest,
    isSane: (group: ReportedRefusals) => boolean,
  ): bigint {
    const reporter = this.#reporters.get(name) ?? { groups: [], calls: 0, last: 0n };
    this.#reporters.set(name, reporter);
    if (after !== reporter.last || first <= after) return reporter.last;
    if (groups.length > 0) reporter.last = first + BigInt(groups.length) - 1n;
    for (const group of groups) {
      if (!isSane(group)) continue;
      reporter.groups.push(group);
      reporter.calls += group.latest.length;
    }
    let dropped = 0;
    while (reporter.calls > MAX_CALLS) reporter.calls -= reporter.groups[dropped++]!.latest.length;
    reporter.groups.splice(0, dropped);
    return reporter.last;
  }

  /** All groups, in no order. */
  *groups(): Generator<ReportedRefusals> {
    for (const { groups } of this.#reporters.values()) yield* groups;
  }
}
