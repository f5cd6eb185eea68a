/**
 * A channel to a service with several equal instances, which all return the same results. All calls
 * go to one preferred instance. While it cannot be reached, or has just let a deadline pass, calls
 * go to another instance.
 */
import { Code } from "../errors.js";
import { Balancer } from "./balancer.js";
import type { CallStart, Channel, Status } from "./channel.js";
import type { Instance } from "./instance.js";

export class Failover extends Balancer {
  #preferred: Channel | undefined;
  /** The last instance that let a deadline pass, until it responds again. */
  #silent: Instance | undefined;

  /** From now on, calls go to the instance behind this channel. */
  prefer(channel: Channel): void {
    this.#preferred = channel;
  }

  override pick(tried: readonly Instance[], now: number): Instance | undefined {
    let best: Instance | undefined;
    let lowest = Number.POSITIVE_INFINITY;
    for (const instance of this.instances) {
      if (tried.includes(instance)) continue;
      const others = instance.channel === this.#preferred ? 0 : 1;
      const rank = 2 * (instance.unfitness(now) + (instance === this.#silent ? 1 : 0)) + others;
      if (rank >= lowest) continue;
      best = instance;
      lowest = rank;
    }
    return best;
  }

  override settle(instance: Instance, start: CallStart, ended: Status, now: number): void {
    super.settle(instance, start, ended, now);
    if (ended.code === Code.DEADLINE_EXCEEDED) this.#silent = instance;
    else if (instance === this.#silent && !ended.neverSent) this.#silent = undefined;
  }
}
