/** Calls through the gateway, by the same HTTP API that anyone can use, as the caller that the session stands for. */
import { CommandError, EXIT } from "./exit.js";
import { type Answer, type Hint, jsonOf, LOOPBACK, type Request, send } from "./http.js";
import type { Session } from "./session.js";

export interface ClientOptions {
  readonly base: URL;
  readonly session: Session;
  /** The namespace asked for; undefined means the session's own. */
  readonly namespace: string | undefined;
  readonly signal: AbortSignal;
}

/** A little more than the longest call that a gateway allows by default. */
const CALL_TIMEOUT_MS = 100_000;

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get address(): string {
    return this.#options.base.origin;
  }

  /** Whether what is sent can be read on the way: plain HTTP to another host. */
  get exposed(): boolean {
    const { protocol, hostname } = this.#options.base;
    return protocol === "http:" && !LOOPBACK.includes(hostname);
  }

  /**
   * The token that calls go with.
   * @throws {CommandError} with exit 4 when not logged in.
   */
  async token(): Promise<string> {
    const token = await this.#options.session.token();
    if (token !== undefined) return token;
    throw new CommandError(`Not logged in to ${this.address}. Log in first: portico login`, EXIT.login);
  }

  /**
   * Calls an endpoint of the authority, such as `Rules/List`, as a logged-in caller.
   * @throws {CommandError}
   */
  async authority<T>(endpoint: string, request: object = {}): Promise<T> {
    await this.token();
    return JSON.parse(await this.call("auth", endpoint, JSON.stringify(request)));
  }

  /**
   * Calls an endpoint with JSON text and gives its answer's. With a token it must be valid; without one the rules alone
   * decide.
   * @throws {CommandError}
   */
  call(service: string, endpoint: string, json: string): Promise<string> {
    return this.#call((token) => {
      const versioned = token !== undefined && this.#options.namespace === undefined;
      return { method: "POST", path: (versioned ? "/v1" : "") + pathOf(service, endpoint), body: json };
    });
  }

  /**
   * Calls an endpoint with fields as query parameters, so that the gateway gives each the type that its message says.
   * @throws {CommandError}
   */
  query(service: string, endpoint: string | undefined, fields = new URLSearchParams()): Promise<string> {
    const query = fields.size > 0 ? `?${fields}` : "";
    return this.#call(() => ({ method: "GET", path: pathOf(service, endpoint) + query }));
  }

  async #call(request: (token: string | undefined) => Pick<Request, "method" | "path" | "body">): Promise<string> {
    const { session } = this.#options;
    const token = await session.token();
    let answer = await this.#send(request(token), token);
    if (answer.status === 401 && token !== undefined) {
      const renewed = await session.renew(token);
      if (renewed !== undefined) answer = await this.#send(request(renewed), renewed);
    }
    return jsonOf(answer, answer.status === 401 ? this.#hint(token) : undefined);
  }

  #hint(token: string | undefined): Hint | undefined {
    const { namespace } = this.#options;
    if (token === undefined) return { text: "You are not logged in. To log in: portico login", exit: EXIT.login };
    if (namespace === undefined) return undefined;
    return { text: `A token counts only in its own namespace. This call went to ${namespace}.`, exit: EXIT.failed };
  }

  #send(request: Pick<Request, "method" | "path" | "body">, token: string | undefined): Promise<Answer> {
    const { base, namespace, signal } = this.#options;
    return send(base, { ...request, token, namespace, timeoutMs: CALL_TIMEOUT_MS, signal });
  }
}

/** `/helloworld/Call` */
function pathOf(service: string, endpoint?: string): string {
  const segments = [service, ...(endpoint?.split("/") ?? [])];
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}
