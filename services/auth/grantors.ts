/**
 * Which other authorities on the store may have granted leases that still run. Before an authority grants leases, be
 * it only to the guard of its own process, it leaves a row in the store, and a new one every two seconds while it goes on. Whoever
 * commits a change reads the rows after that: an authority whose row is not there yet will read the change before it
 * grants anything. A row is dead when it has not been replaced for so long, by our own monotonic clock, that every lease
 * granted under it has run out; it is deleted. Rows are never rewritten, so a dead one cannot come to life in between.
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Collection } from "../../src/store.js";
import { leaseSpan } from "./leases.js";

const RENEWAL = 2_000;

export class Grantors {
  readonly #rows: Collection;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #life: number;
  readonly #id = randomUUID();
  #count = 0;
  #announced = Number.NEGATIVE_INFINITY;
  #announcing: Promise<void> | undefined;
  /** When we first saw each row of others. */
  readonly #seen = new Map<string, number>();

  constructor({ rows, log, now, leaseMs }: { rows: Collection; log: Logger; now: () => number; leaseMs: number }) {
    this.#rows = rows;
    this.#log = log;
    this.#now = now;
    this.#life = RENEWAL + leaseSpan(leaseMs);
  }

  /** @throws {StoreError} when the row cannot be written; then nothing may be granted. */
  async announce(): Promise<void> {
    if (this.#now() - this.#announced < RENEWAL) return;
    this.#announcing ??= this.#renew().finally(() => {
      this.#announcing = undefined;
    });
    await this.#announcing;
  }

  async #renew(): Promise<void> {
    const began = this.#now();
    const replaced = this.#row();
    this.#count += 1;
    await this.#rows.create(this.#row(), "");
    await this.#rows.delete([replaced]);
    this.#announced = began;
  }

  /** Whether a lease granted by another authority may run. It may, too, when we cannot find out. */
  async othersMayGrant(): Promise<boolean> {
    try {
      const rows = (await this.#rows.keys()).filter((row) => !row.startsWith(`${this.#id}/`));
      const now = this.#now();
      for (const row of [...this.#seen.keys()]) if (!rows.includes(row)) this.#seen.delete(row);
      for (const row of rows) if (!this.#seen.has(row)) this.#seen.set(row, now);
      const dead = rows.filter((row) => now - this.#seen.get(row)! > this.#life);
      await this.#rows.delete(dead);
      return dead.length < rows.length;
    } catch (error) {
      this.#log.error(
        { err: error },
        "cannot tell whether other authorities grant leases; waiting for theirs to run out",
      );
      return true;
    }
  }

  /** Nothing may be granted any more. */
  async withdraw(): Promise<void> {
    await this.#announcing?.catch(() => undefined);
    await this.#rows.delete([this.#row()]);
  }

  #row(): string {
    return `${this.#id}/${this.#count}`;
  }
}
