/** Calls one address without pause, and records the result of each call. */
import { Pool } from "undici";

export interface Sample {
  /** In milliseconds of `performance.now()`. */
  readonly started: number;
  readonly ended: number;
  /** The HTTP status; 0 without a response. */
  readonly status: number;
}

/** Callers at once; each makes one call at a time. */
const CALLERS = 4;
/**
 * Between the calls of one caller, in milliseconds, because the tested processes need the processor
 * too.
 */
const PAUSE = 4;
const PATIENCE = 15_000;

export class Load {
  readonly samples: Sample[] = [];
  readonly #pool: Pool;
  readonly #path: string;
  readonly #headers: Record<string, string>;
  readonly #callers: Promise<void>[];
  #stopped = false;

  constructor(base: string, path: string, headers: Record<string, string> = {}) {
    this.#pool = new Pool(base, { connections: CALLERS, headersTimeout: PATIENCE, bodyTimeout: PATIENCE });
    this.#path = path;
    this.#headers = headers;
    this.#callers = Array.from({ length: CALLERS }, () => this.#call());
  }

  /**
   * Resolves when a call that started after now ends with a wanted status.
   * @throws {Error} if there is none within the time
   */
  async until(wanted: (status: number) => boolean, milliseconds = 60_000): Promise<Sample> {
    const from = performance.now();
    for (let at = this.samples.length; ; await new Promise((resolve) => setTimeout(resolve, PAUSE))) {
      for (; at < this.samples.length; at++) {
        const sample = this.samples[at]!;
        if (sample.started >= from && wanted(sample.status)) return sample;
      }
      if (performance.now() - from > milliseconds) {
        throw new Error(`no such answer within ${milliseconds} ms; the last was ${this.samples.at(-1)?.status}`);
      }
    }
  }

  async stop(): Promise<readonly Sample[]> {
    this.#stopped = true;
    await Promise.all(this.#callers);
    await this.#pool.destroy();
    return this.samples;
  }

  async #call(): Promise<void> {
    while (!this.#stopped) {
      const started = performance.now();
      let status = 0;
      try {
        const response = await this.#pool.request({ path: this.#path, method: "GET", headers: this.#headers });
        await response.body.dump();
        status = response.statusCode;
      } catch {
        // Refused, reset or too late: there is no response.
      }
      this.samples.push({ started, ended: performance.now(), status });
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
}

/** Calls that started after `moment` and were granted. */
export function grantedAfter(samples: readonly Sample[], moment: number): readonly Sample[] {
  return samples.filter(({ started, status }) => started > moment && status === 200);
}

/** Calls that got a response neither of the service nor of the rules. */
export function failed(samples: readonly Sample[]): readonly Sample[] {
  return samples.filter(({ status }) => status !== 200 && status !== 401);
}
