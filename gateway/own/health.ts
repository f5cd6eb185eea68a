/**
 * Whether this process lives, and whether it has all it needs to answer. A load balancer asks the second, and stops
 * sending when it is no.
 */
import { answerError, HttpError } from "../errors.js";
import type { OwnAnswer, OwnPaths } from "./own.js";

/** What must be there, by name, and whether it is. */
export type Parts = Readonly<Record<string, () => boolean>>;

export class Health implements OwnPaths {
  readonly #parts: Parts;
  #leaving = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** From now on not ready: the process is about to stop. */
  leave(): void {
    this.#leaving = true;
  }

  get leaving(): boolean {
    return this.#leaving;
  }

  /** The names of the parts that are not there. */
  get missing(): string[] {
    return Object.keys(this.#parts).filter((name) => !this.#parts[name]?.());
  }

  /** The answer at `/livez` and `/readyz`; undefined at any other path. */
  answer(path: string): (OwnAnswer & { readonly body: string }) | undefined {
    if (path === "/livez") return { status: 200, body: '{"Status":"alive"}' };
    if (path !== "/readyz") return undefined;
    const { missing } = this;
    if (this.#leaving) return answerError("gateway", new HttpError(503, "Not ready: stopping"));
    if (missing.length > 0) return answerError("gateway", new HttpError(503, `Not ready: no ${missing.join(", no ")}`));
    return { status: 200, body: '{"Status":"ready"}' };
  }
}
