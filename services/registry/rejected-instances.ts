/**
 * The instances that the registry refused lately, for administrators. A refused instance tries
 * again all the time, so it is listed for as long as it is refused.
 */
import type { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { RejectedInstance } from "../../src/gen/portico/registry/v1/services.js";
import { toTimestamp } from "../../src/time.js";

/** Maximum number of instances that are remembered. */
const MAX_REJECTED = 100;
/** How long an instance is listed after its last attempt, in milliseconds. */
const LISTED_MS = 10 * 60_000;
const MAX_ERROR = 1_000;

interface Rejected {
  readonly service: string;
  readonly id: string;
  readonly error: string;
  /** In milliseconds since 1970. */
  readonly at: number;
}

export class RejectedInstances {
  /** By service and ID, in the order of the last attempts. */
  readonly #rejected = new Map<string, Rejected>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  add({ service, id }: Instance, { message }: Error): void {
    this.delete({ service, id });
    this.#rejected.set(`${service}/${id}`, { service, id, error: message.slice(0, MAX_ERROR), at: this.#now() });
    const [oldest] = this.#rejected.keys();
    if (this.#rejected.size > MAX_REJECTED) this.#rejected.delete(oldest!);
  }

  delete({ service, id }: Pick<Instance, "service" | "id">): void {
    this.#rejected.delete(`${service}/${id}`);
  }

  /** The latest first. */
  list(): RejectedInstance[] {
    const since = this.#now() - LISTED_MS;
    const lately = [...this.#rejected.values()].filter(({ at }) => at >= since).reverse();
    return lately.map(({ service, id, error, at }) => ({ service, id, error, time: toTimestamp(at) }));
  }
}
