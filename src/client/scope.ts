/** The scope of one call: its deadline, the caller's signal, and what ends both. */
import { PorticoError } from "./error.js";
import type { CallOptions } from "./options.js";

export class CallScope {
  readonly service: string;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  /** By performance.now(). */
  readonly #deadline: number | undefined;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onAbort = (): void => this.#controller.abort(this.#caller?.reason);

  /** @param timeout in milliseconds; undefined for none */
  constructor(service: string, { signal, timeout }: CallOptions) {
    this.service = service;
    this.#caller = signal;
    if (signal?.aborted) this.#onAbort();
    signal?.addEventListener("abort", this.#onAbort);
    if (timeout === undefined) return;
    this.#deadline = performance.now() + timeout;
    this.#timer = setTimeout(() => this.#controller.abort(this.#tooLate(timeout)), timeout);
  }

  /** Aborted when the call is to end early; its reason is what the caller gets. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Milliseconds until the deadline; undefined without one. */
  get timeLeft(): number | undefined {
    return this.#deadline === undefined ? undefined : Math.max(0, this.#deadline - performance.now());
  }

  /** @throws the reason, where the call is to end early */
  check(): void {
    if (this.signal.aborted) throw this.signal.reason;
  }

  /**
   * Waits for something that may take as long as the call, or `limitMs`.
   * @throws {PorticoError} 503 when that limit has passed
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

  /** Ends what still runs of the call. */
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
