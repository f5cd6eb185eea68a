/** Calls through the gateway, by the same HTTP API that anyone can use, as the caller that the session stands for. */
import { CommandError, EXIT } from "../terminal/exit.js";
import { failureOfLine, type Hint } from "./failure.js";
import { type Answer, jsonOf, type RawAnswer, type Request, send, sendForMany } from "./http.js";
import type { Session } from "./session.js";
import { LOOPBACK } from "./unreachable.js";

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
  #checked: Promise<void> | undefined;

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
  async call(service: string, endpoint: string, json: string): Promise<string> {
    const { answer, hint } = await this.#call(send, this.#post(service, endpoint, json));
    return jsonOf(answer, hint);
  }

  /**
   * The same for an endpoint that may stream its answers, or answer with raw bytes: gives each as it comes. Without a
   * body no field is set.
   * @throws {CommandError}
   */
  callForMany(service: string, endpoint: string, body?: string | Uint8Array): AsyncIterable<string | RawAnswer> {
    return this.#answers(this.#post(service, endpoint, body));
  }

  /**
   * Calls an endpoint with fields as query parameters, so that the gateway gives each the type that its message says.
   * @throws {CommandError}
   */
  async query(service: string, endpoint: string | undefined, fields = new URLSearchParams()): Promise<string> {
    const { answer, hint } = await this.#call(send, () => get(service, endpoint, fields));
    return jsonOf(answer, hint);
  }

  /**
   * The same for an endpoint that may stream its answers, or answer with raw bytes: gives each as it comes.
   * @throws {CommandError}
   */
  queryForMany(
    service: string,
    endpoint: string | undefined,
    fields: URLSearchParams,
  ): AsyncIterable<string | RawAnswer> {
    return this.#answers(() => get(service, endpoint, fields));
  }

  /**
   * Sends an endpoint that takes a stream one message after the other, and gives each answer as it comes.
   * @throws {CommandError}
   */
  async *converse(service: string, endpoint: string, messages: AsyncIterable<string>): AsyncGenerator<string> {
    const { base, namespace, session, signal } = this.#options;
    const { converse } = await import("./websocket.js");
    const token = await session.token();
    const path = this.#versioned(token) + pathOf(service, endpoint);
    yield* converse(base, { path, token, namespace, signal }, messages);
  }

  /** With a token that must be valid, unless it may be one of another namespace than the one asked for. */
  #versioned(token: string | undefined): string {
    return token !== undefined && this.#options.namespace === undefined ? "/v1" : "";
  }

  #post(service: string, endpoint: string, body: string | Uint8Array | undefined): ToSend {
    return (token) => ({ method: "POST", path: this.#versioned(token) + pathOf(service, endpoint), body });
  }

  async *#answers(request: ToSend): AsyncGenerator<string | RawAnswer> {
    const { answer, hint } = await this.#call(sendForMany, request);
    if ("pieces" in answer) return yield answer;
    if (!("lines" in answer)) return yield jsonOf(answer, hint);
    for await (const line of answer.lines) {
      const failure = failureOfLine(line, answer.requestId);
      if (failure !== undefined) throw failure;
      yield line;
    }
  }

  async #call<T extends object>(
    exchange: Exchange<T>,
    request: ToSend,
  ): Promise<{ answer: T; hint: Hint | undefined }> {
    const { session } = this.#options;
    const token = await session.token();
    if (token !== undefined && !request(token).path.startsWith("/v1/")) await this.#check();
    let answer = await this.#send(exchange, request(token), token);
    if (isUnauthorized(answer) && token !== undefined) {
      const renewed = await session.renew(token);
      if (renewed !== undefined) answer = await this.#send(exchange, request(renewed), renewed);
    }
    return { answer, hint: isUnauthorized(answer) ? this.#hint(token) : undefined };
  }

  /** Once: a command may call several endpoints. */
  #check(): Promise<void> {
    this.#checked ??= this.#options.session.check();
    return this.#checked;
  }

  #hint(token: string | undefined): Hint | undefined {
    const { namespace } = this.#options;
    if (token === undefined) return { text: "You are not logged in. To log in: portico login", exit: EXIT.login };
    if (namespace === undefined) return undefined;
    return { text: `A token counts only in its own namespace. This call went to ${namespace}.`, exit: EXIT.failed };
  }

  #send<T>(exchange: Exchange<T>, request: ReturnType<ToSend>, token: string | undefined): Promise<T> {
    const { base, namespace, signal } = this.#options;
    return exchange(base, { ...request, token, namespace, timeoutMs: CALL_TIMEOUT_MS, signal });
  }
}

/** A request, but for who sends it. */
type ToSend = (token: string | undefined) => Pick<Request, "method" | "path" | "body">;

type Exchange<T> = (base: URL, request: Request) => Promise<T>;

function isUnauthorized(answer: object): boolean {
  return (answer as Partial<Answer>).status === 401;
}

function get(service: string, endpoint: string | undefined, fields: URLSearchParams): ReturnType<ToSend> {
  return { method: "GET", path: pathOf(service, endpoint) + (fields.size > 0 ? `?${fields}` : "") };
}

/** `/helloworld/Call` */
function pathOf(service: string, endpoint?: string): string {
  const segments = [service, ...(endpoint?.split("/") ?? [])];
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}
