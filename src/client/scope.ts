/** The scope of one call: its deadline, the caller's signal, and the reason for which it ends. */
import { PorticoError } from "./error.js";
import type { CallOptions } from "./options.js";

export class CallScope {
  readonly service: string;
  /** The token of the current attempt; undefined for none. */
  token: string | undefined;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  /** On the clock of performance.now(), in milliseconds. */
  readonly #deadline: number | undefined;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onAbort = (): void => this.#controller.abort(this.#caller?.reason);

  /** @param timeout in milliseconds, or undefined for no deadline */
  constructor(service: string, { signal, timeout }: CallOptions) {
    this.service = service;
    this.#caller = signal;
    if (signal?.aborted) this.#onAbort();
    signal?.addEventListener("abort", this.#onAbort);
    if (timeout === undefined) return;
    this.#deadline = performance.now() + timeout;
    this.#timer = setTimeout(() => this.#controller.abort(this.#tooLate(timeout)), timeout);
  }

  /** Aborted when the call must end early. The caller gets the signal's reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Milliseconds until the deadline, or undefined without one. */
  get timeLeft(): number | undefined {
    return this.#deadline === undefined ? undefined : Math.max(0, this.#deadline - performance.now());
  }

  /** @throws the reason, if the call must end early */
  check(): void {
    if (this.signal.aborted) throw this.signal.reason;
  }

  /**
   * Waits for `promise`, at most until the call ends, and at most `limitMs`.
   * @throws {PorticoError} 503 when `limitMs` has passed
   */
  async within<T>(promise: Promise<T>, limitMs?: number): Promise<T> {
    promise.catch(() => {}); // It may fail after the call has ended.
    this.check();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let onAbort = (): void => {};
    const ended = new Promise<never>((_, reject) => {
      onAbort = () => reject(this.signal.reason);
      this.signal.addEventListener("abort", onAbort);
      if (limitMs !== undefined) timer = setTimeout(() => reject(this.#silent(limitMs)), limitMs);
    });
    try {
      return await Promise.race([promise, ended]);
    } finally {
      clearTimeout(timer);
      this.signal.removeEventListener("abort", onAbort);
    }
  }

  async wait(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const passed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await this.within(passed).finally(() => clearTimeout(timer));
  }

  /** Ends the call early, with a reason. */
  fail(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Aborts everything that still runs for the call. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#onAbort);
    this.#controller.abort();
  }

  #tooLate(timeout: number): PorticoError {
    const Detail = `No answer within ${timeout / 1000} s`;
    return new PorticoError({ Id: this.service, Code: 504, Detail, Status: "Gateway Timeout" });
  }

  #silent(limitMs: number): PorticoError {
    const Detail = `The stream was silent for ${limitMs / 1000} s`;
    return new PorticoError({ Id: this.service, Code: 503, Detail, Status: "Service Unavailable" });
  }
}
