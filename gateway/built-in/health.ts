/**
 * `/livez` says that the process runs, `/readyz` whether it can serve calls. While `/readyz` is
 * 503, a load balancer sends no requests. A process that serves calls, but has a problem that its
 * operator must fix, is degraded: 200, with the reasons.
 */
import { toErrorReply } from "../http/error-object.js";
import { HttpError } from "../http/errors.js";
import type { BareResponse, BuiltInRoutes } from "../http/message.js";

/** The parts that the process needs, by name. Each function returns whether the part is ready. */
export type Needs = Readonly<Record<string, () => boolean>>;

type HealthReply = BareResponse & { readonly body: string };

interface HealthOptions {
  /** Why it is not ready, in a text for the operator, which may name addresses. */
  readonly why?: (() => string | undefined) | undefined;
  /**
   * Problems that the operator must fix although calls are served. Everyone who reaches the port
   * may read them.
   */
  readonly errors?: (() => readonly string[]) | undefined;
}

/** The needs that are not met, in words that name no other machine. */
const WORDS: Readonly<Record<string, string>> = {
  guard: "no authority is followed",
  catalog: "the catalog of services has not arrived yet",
};

export class HealthRoutes implements BuiltInRoutes {
  readonly roots: BuiltInRoutes["roots"] = ["/livez", "/readyz"];
  readonly #needs: Needs;
  readonly #options: HealthOptions;
  #leaving = false;

  constructor(needs: Needs, options: HealthOptions = {}) {
    this.#needs = needs;
    this.#options = options;
  }

  /** Called when the process is about to stop. From then on it is not ready. */
  leave(): void {
    this.#leaving = true;
  }

  get isLeaving(): boolean {
    return this.#leaving;
  }

  /** Problems that the operator must fix although calls are served. */
  get errors(): readonly string[] {
    return this.#options.errors?.() ?? [];
  }

  /** Whether `/readyz` is 200. */
  get isReady(): boolean {
    return !this.#leaving && this.missing.length === 0;
  }

  /** The names of the needs that are not met. */
  get missing(): string[] {
    return Object.keys(this.#needs).filter((name) => !this.#needs[name]?.());
  }

  /**
   * The response at `/livez` and `/readyz` of a port that anyone may reach; undefined at any other
   * path.
   */
  reply(path: string): HealthReply | undefined {
    return this.#reply(path, () => undefined);
  }

  /** The same for the admin port, where the response says why the process is not ready. */
  replyToOperator(path: string): HealthReply | undefined {
    return this.#reply(path, this.#options.why ?? (() => undefined));
  }

  #reply(path: string, why: () => string | undefined): HealthReply | undefined {
    if (path === "/livez") return { status: 200, body: '{"Status":"alive"}' };
    if (path !== "/readyz") return undefined;
    const { missing } = this;
    if (this.#leaving) return toErrorReply("gateway", new HttpError(503, "Not ready: stopping"));
    if (missing.length > 0) {
      const reason = why() ?? missing.map((name) => WORDS[name] ?? name).join(", ");
      return toErrorReply("gateway", new HttpError(503, `Not ready: ${reason}`));
    }
    const { errors } = this;
    if (errors.length > 0) return { status: 200, body: JSON.stringify({ Status: "degraded", Reasons: errors }) };
    return { status: 200, body: '{"Status":"ready"}' };
  }
}
