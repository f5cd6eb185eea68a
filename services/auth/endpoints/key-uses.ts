/** When API keys were last used, as guards tell. It is written down once a minute, and when the authority closes. */
import type { Logger } from "pino";
import { toTimestamp } from "../../../src/time.js";
import { type Journal, PORTICO } from "../log/journal.js";
import { hex } from "../log/state.js";

const INTERVAL = 60_000;

export class KeyUses {
  readonly #journal: Journal;
  readonly #log: Logger;
  /** Unwritten uses by the hex of the key's hash; no more than there are keys. */
  readonly #uses = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ journal, log }: { journal: Journal; log: Logger }) {
    this.#journal = journal;
    this.#log = log;
  }

  record(sha256: Uint8Array): void {
    const hash = hex(sha256);
    if (this.#journal.state.tokens.get(hash)?.kind !== "key") return;
    this.#uses.set(hash, this.#journal.now);
    this.#timer ??= setTimeout(() => void this.flush(), INTERVAL).unref();
  }

  /** The latest known use that is not written down yet, in milliseconds of `Date.now()`. */
  lastUse(sha256: Uint8Array): number | undefined {
    return this.#uses.get(hex(sha256));
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const uses = [...this.#uses].map(([hash, time]) => ({ sha256: Buffer.from(hash, "hex"), time: toTimestamp(time) }));
    if (uses.length === 0) return;
    this.#uses.clear();
    try {
      await this.#journal.commit(PORTICO, () => [{ $case: "keysUsed", value: { uses } }]);
    } catch (error) {
      this.#log.warn({ err: error }, "when API keys were used could not be written down");
    }
  }
}
