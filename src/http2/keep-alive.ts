/**
 * Tests a silent connection with PINGs, and closes it when it stays silent.
 *
 * Silence is counted in checks, not by the clock. So a time in which this process's event loop was
 * blocked counts as one check, not as silence of the peer.
 */

export interface KeepAliveOptions {
  /** How long a connection may be silent before it is tested, in milliseconds. */
  readonly after: number;
  /** How long the peer may take to send anything after the PING, in milliseconds. */
  readonly timeout: number;
  /**
   * Maximum number of PINGs without HEADERS or DATA from the peer between them; default no limit.
   */
  readonly maxPings?: number;
  /**
   * Whether a connection without streams is tested too. If not, the test must be started again with
   * the next stream.
   */
  readonly idle: boolean;
  /**
   * Whether anything was sent since the last call, or waits for the peer to read. Then the
   * connection is not tested: a PING would wait behind the data that a slow reader has not read.
   * Default: sent data does not count.
   */
  readonly isSending?: (() => boolean) | undefined;
}

interface TestedConnection {
  readonly streams: { readonly size: number };
  readonly writer: { ping(mark: number): void };
  destroy(): void;
}

/** The number of checks during `after`. */
const CHECKS = 5;

export class KeepAlive {
  readonly #connection: TestedConnection;
  readonly #options: KeepAliveOptions;
  #timer: NodeJS.Timeout | undefined;
  /** In milliseconds. */
  #silence = 0;
  #pings = 0;
  /** A PING was sent, and nothing was read since. */
  #tested = false;

  constructor(connection: TestedConnection, options: KeepAliveOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** No effect when it is already running. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#silence = 0;
    const interval = this.#options.after / CHECKS;
    this.#timer = setInterval(() => this.#check(interval), interval).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  onRead(): void {
    this.#silence = 0;
    this.#tested = false;
  }

  /** The peer has sent HEADERS or DATA. */
  onProgress(): void {
    this.#pings = 0;
  }

  #check(elapsed: number): void {
    const { after, timeout, maxPings = Number.POSITIVE_INFINITY, idle, isSending } = this.#options;
    if (!idle && this.#connection.streams.size === 0) {
      this.stop();
      return;
    }
    if (isSending?.() && !this.#tested) this.#silence = 0;
    this.#silence += elapsed;
    if (this.#tested) {
      if (this.#silence >= after + timeout) this.#connection.destroy();
    } else if (this.#silence >= after && this.#pings < maxPings) {
      this.#pings++;
      this.#tested = true;
      this.#connection.writer.ping(0);
    }
  }
}
