/**
 * The time in which a client must send its next bytes. One timer checks all connections, so a time
 * is a number of checks.
 */
export class ClientTime {
  readonly #checkMs: number;
  #checks = 0;
  /** 0 for no limit. */
  #maxChecks = 0;

  /** @param checkMs how often `isOver` is called, in milliseconds */
  constructor(checkMs: number) {
    this.#checkMs = checkMs;
  }

  /** Limits the time from now on, in milliseconds. */
  limit(ms: number): void {
    this.restart();
    this.extend(ms);
  }

  /** Counts time from now on, whether or not it is limited. */
  restart(): void {
    this.#checks = 0;
  }

  /** Limits the time since the count began, in milliseconds. */
  extend(ms: number): void {
    this.#maxChecks = Math.ceil(ms / this.#checkMs);
  }

  /** The client has sent all that was due. */
  end(): void {
    this.#maxChecks = 0;
  }

  /** Whether the client has taken too long. Returns true only once. */
  isOver(): boolean {
    if (this.#maxChecks === 0 || ++this.#checks <= this.#maxChecks) return false;
    this.#maxChecks = 0;
    return true;
  }
}
