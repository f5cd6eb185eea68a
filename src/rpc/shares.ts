/**
 * Chooses among instances that have different weights or priorities: smooth weighted round robin,
 * as in nginx. Each choice adds to the credit of every candidate its weight, and takes the sum of
 * all weights from the chosen one. So an instance of weight 5 beside one of weight 95 gets every
 * twentieth call, and never two in a row. Calls in flight do not count, because a slow instance
 * would then get fewer calls than its weight says.
 */
export interface Share {
  /** Counts against the weights of the other instances of the same priority. */
  readonly weight: number;
  /** An instance gets calls only while no instance with a lower number is fit for them. */
  readonly priority: number;
}

export const EQUAL: Share = { weight: 1, priority: 0 };

/** An instance that takes turns with others. */
interface Sharing {
  readonly share: Share;
  /** What remains of its weight from earlier choices. */
  credit: number;
  unfitness(now: number): number;
}

/** Whether some of the instances have another share than the others. */
export function isUneven(instances: readonly Sharing[]): boolean {
  const [first] = instances;
  return instances.some(({ share: { weight, priority } }) => {
    return weight !== first?.share.weight || priority !== first.share.priority;
  });
}

/**
 * The instance that is next in turn among those that `mayTake` returns true for: of the fittest
 * ones, only the ones of the lowest priority count. This changes no credit.
 */
export function nextByShare<T extends Sharing>(
  instances: readonly T[],
  mayTake: (instance: T) => boolean,
  now: number,
): T | undefined {
  let best: T | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  for (const instance of instances) {
    if (!mayTake(instance)) continue;
    const unfitness = instance.unfitness(now);
    if (unfitness < lowest || (best !== undefined && unfitness === lowest && isBefore(instance, best))) {
      best = instance;
      lowest = unfitness;
    }
  }
  return best;
}

function isBefore(one: Sharing, other: Sharing): boolean {
  const by = one.share.priority - other.share.priority;
  return by < 0 || (by === 0 && one.credit + one.share.weight > other.credit + other.share.weight);
}

/**
 * Records that an instance was chosen. A credit is at most the sum of the weights. Otherwise an
 * instance that other calls must not use, because it has another contract, would later get many
 * calls in a row.
 */
export function spendCredit(instances: readonly Sharing[], chosen: Sharing, now: number): void {
  const unfitness = chosen.unfitness(now);
  const { priority } = chosen.share;
  let total = 0;
  for (const instance of instances) {
    if (instance.share.priority !== priority || instance.unfitness(now) !== unfitness) continue;
    instance.credit += instance.share.weight;
    total += instance.share.weight;
  }
  chosen.credit -= total;
  for (const instance of instances) instance.credit = Math.max(-total, Math.min(instance.credit, total));
}
