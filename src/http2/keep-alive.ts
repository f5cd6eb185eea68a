/**
 * Tests a silent connection with PINGs, and gives it up when it stays silent.
 *
 * Silence is counted in checks, not by the clock: so a time in which this process's event loop stood still counts as one
 * check, and not as silence of the peer.
 */

/** In milliseconds. */
export interface KeepAliveTimes {
  /** How long a connection may be silent before it is tested. */
  readonly after: number;
  /** How long the peer may take to send anything after the PING. */
  readonly timeout: number;
}

/** Checks within `after`. */
const CHECKS = 5;

export interface KeepAliveOptions {
  readonly times: KeepAliveTimes;
  /** PINGs until `onProgress`, at most; default no limit. */
  readonly maxPings?: number;
  /** Asked at each check; false stops it, until it is started again. Default always true. */
  readonly needed?: () => boolean;
  readonly ping: () => void;
  readonly giveUp: () => void;
}

export class KeepAlive {
  readonly #times: KeepAliveTimes;
  readonly #maxPings: number;
  readonly #needed: () => boolean;
  readonly #ping: () => void;
  readonly #giveUp: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** In milliseconds. */
  #silence = 0;
  /** PINGs since `onProgress`. */
  #pings = 0;
  /** A PING was sent, and nothing was read since. */
  #tested = false;

  constructor({ times, maxPings = Number.POSITIVE_INFINITY, needed = () => true, ping, giveUp }: KeepAliveOptions) {
    this.#times = times;
    this.#maxPings = maxPings;
    this.#needed = needed;
    this.#ping = ping;
    this.#giveUp = giveUp;
  }

  /** No effect while it runs. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#silence = 0;
    const interval = this.#times.after / CHECKS;
    this.#timer = setInterval(() => this.#check(interval), interval).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Anything was read. */
  onRead(): void {
    this.#silence = 0;
    this.#tested = false;
  }

  /** The peer has sent HEADERS or DATA. */
  onProgress(): void {
    this.#pings = 0;
  }

  #check(elapsed: number): void {
    if (!this.#needed()) {
      this.stop();
      return;
    }
    const { after, timeout } = this.#times;
    this.#silence += elapsed;
    if (this.#tested) {
      if (this.#silence >= after + timeout) this.#giveUp();
    } else if (this.#silence >= after && this.#pings < this.#maxPings) {
      this.#pings++;
      this.#tested = true;
      this.#ping();
    }
  }
}
