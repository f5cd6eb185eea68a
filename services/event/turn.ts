/**
 * The right to receive the events of a group. One consumer has it until it leaves or its process
 * ends.
 */
import { randomUUID } from "node:crypto";
import type { Call, Store } from "../../src/kit/index.js";

/** How long a turn lasts without renewal, for example after its process was killed. */
const TTL_MS = 10_000;
const RENEW_MS = 3000;
/** How often a waiting consumer checks whether the turn is free. */
const WAIT_MS = 500;

export class Turn {
  readonly #turns: Store<string>;
  readonly #key: string;
  readonly #id: string;
  readonly #timer: NodeJS.Timeout;
  #lost = false;
  #onLost: () => void = () => {};
  #renewing: Promise<void>;

  private constructor(turns: Store<string>, key: string, id: string) {
    this.#turns = turns;
    this.#key = key;
    this.#id = id;
    this.#renewing = Promise.resolve();
    this.#timer = setInterval(() => {
      this.#renewing = this.#renew();
    }, RENEW_MS);
  }

  /**
   * Waits for the turn. Returns undefined if the caller leaves first.
   * @param key the topic and the group
   */
  static async take(call: Call, key: string): Promise<Turn | undefined> {
    const turns = call.store<string>("turns");
    const id = randomUUID();
    while (!call.signal.aborted) {
      if (await turns.createIfAbsent(key, id, { ttlMs: TTL_MS })) return new Turn(turns, key, id);
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    }
    return undefined;
  }

  /** Whether another consumer has the turn now, because this one could not renew it in time. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Sets the function that is called when the turn is lost, also if it is lost already. */
  onLost(act: () => void): void {
    this.#onLost = act;
    if (this.#lost) act();
  }

  /** Passes the turn to the next waiting consumer. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
    const entry = await this.#turns.getEntry(this.#key);
    if (entry?.value === this.#id) await this.#turns.commit([{ delete: this.#key, ifVersion: entry.version }]);
  }

  async #renew(): Promise<void> {
    try {
      const entry = await this.#turns.getEntry(this.#key);
      const mine = entry?.value === this.#id;
      if (mine && (await this.#turns.compareAndSet(this.#key, entry.version, this.#id, { ttlMs: TTL_MS }))) return;
      this.#lost = true;
      this.#onLost();
    } catch {
      // The next renewal tries again, until the turn expires.
    }
  }
}
