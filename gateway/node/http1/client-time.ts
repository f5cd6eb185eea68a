/** How long a client may take to send what it has to. Connections are checked together, so a time is a number of checks. */
export class ClientTime {
  readonly #checkMs: number;
  #checks = 0;
  /** 0 for any number. */
  #maxChecks = 0;

  /** @param checkMs how often `isOver` is asked, in milliseconds */
  constructor(checkMs: number) {
    this.#checkMs = checkMs;
  }

  /** Limits the time from now on, in milliseconds. */
  limit(ms: number): void {
    this.restart();
    this.extend(ms);
  }

  /** Time counts from now on, whether or not it is limited. */
  restart(): void {
    this.#checks = 0;
  }

  /** Limits the time since it began to count, in milliseconds. */
  extend(ms: number): void {
    this.#maxChecks = Math.ceil(ms / this.#checkMs);
  }

  /** The client has sent what it had to. */
  end(): void {
    this.#maxChecks = 0;
  }

  /** Whether the client has taken too long; true once. */
  isOver(): boolean {
    if (this.#maxChecks === 0 || ++this.#checks <= this.#maxChecks) return false;
    this.#maxChecks = 0;
    return true;
  }
}
