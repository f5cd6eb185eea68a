/** Calls through the gateway, by the same HTTP API that anyone can use, as the caller that the session stands for. */
import type { Endpoints } from "../../src/api/types.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { RawBytes } from "../terminal/output.js";
import { failureOfLine, type Hint, LOOPBACK } from "./failure.js";
import { type HttpRequest, type HttpResponse, jsonOf, type StreamResponse, send, sendStreaming } from "./request.js";
import type { Session } from "./session.js";

export interface ClientOptions {
  readonly base: URL;
  readonly session: Session;
  /** The namespace to call; undefined means the session's own. */
  readonly namespace: string | undefined;
  /** Logs in where the client calls, for messages. */
  readonly loginCommand: string;
  readonly signal: AbortSignal;
}

/** A little more than the longest call that a gateway allows by default. */
const CALL_TIMEOUT_MS = 100_000;

/** Members of a request. JSON leaves out those that are undefined. */
type Members<T> = { readonly [K in keyof T]: T[K] | undefined };

export class GatewayClient {
  readonly #options: ClientOptions;
  #checked: Promise<void> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get address(): string {
    return this.#options.base.origin;
  }

  /** Logs in where the client calls, for messages. */
  get loginCommand(): string {
    return this.#options.loginCommand;
  }

  /** Whether what is sent can be read on the way: plain HTTP to another host. */
  get exposed(): boolean {
    const { protocol, hostname } = this.#options.base;
    return protocol === "http:" && !LOOPBACK.includes(hostname);
  }

  /**
   * The token that calls carry.
   * @throws {CommandError} with exit 4 when not logged in.
   */
  async token(): Promise<string> {
    const token = await this.#options.session.token();
    if (token !== undefined) return token;
    throw new CommandError(`Not logged in to ${this.address}. Log in first: ${this.loginCommand}`, EXIT.login);
  }

  /**
   * Calls an endpoint of Portico itself. Those of the authority, `auth/…`, need a login; the registry lists to a caller
   * without a token what everyone may call.
   * @throws {CommandError}
   */
  async ask<E extends keyof Endpoints>(
    endpoint: E,
    request?: Members<Endpoints[E]["request"]>,
  ): Promise<Endpoints[E]["response"]> {
    if (endpoint.startsWith("auth/")) await this.token();
    const { response, hint } = await this.#call(send, this.#post(`/${endpoint}`, JSON.stringify(request ?? {})));
    return JSON.parse(jsonOf(response, hint));
  }

  /**
   * The OpenAPI document of a service, as JSON text.
   * @throws {CommandError}
   */
  async openApi(service: string): Promise<string> {
    const { response, hint } = await this.#call(send, () => get("openapi", `${service}.json`));
    return jsonOf(response, hint);
  }

  /**
   * Calls an endpoint with JSON, or what else it takes, and gives its answer as JSON text: each of them where it streams;
   * or its raw bytes. With a token, the token must be valid; without one the rules alone decide.
   * @throws {CommandError}
   */
  post(service: string, endpoint: string, body?: string | Uint8Array): AsyncIterable<string | RawBytes> {
    return this.#responses(this.#post(pathOf(service, endpoint), body));
  }

  /**
   * The same with fields as query parameters, so that the gateway gives each the type that its message says.
   * @throws {CommandError}
   */
  get(service: string, endpoint: string | undefined, fields: URLSearchParams): AsyncIterable<string | RawBytes> {
    return this.#responses(() => get(service, endpoint, fields));
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

  /**
   * Sends a message of the Model Context Protocol.
   * @returns the response, or where it is a stream of events, their lines
   * @throws {CommandError}
   */
  async sendMcp(
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<HttpResponse | StreamResponse> {
    const request: RequestFor = () => ({ method: "POST", path: "/mcp", body, headers, signal });
    const { response } = await this.#call(sendStreaming, request);
    return response as HttpResponse | StreamResponse;
  }

  /**
   * `/v1`, where a token must be valid. Not where a namespace was asked for: the token may be one of another namespace,
   * and so not valid there.
   */
  #versioned(token: string | undefined): string {
    return token !== undefined && this.#options.namespace === undefined ? "/v1" : "";
  }

  #post(path: string, body: string | Uint8Array | undefined): RequestFor {
    return (token) => ({ method: "POST", path: this.#versioned(token) + path, body });
  }

  async *#responses(request: RequestFor): AsyncGenerator<string | RawBytes> {
    const { response, hint } = await this.#call(sendStreaming, request);
    if ("chunks" in response) return yield response;
    if (!("lines" in response)) return yield jsonOf(response, hint);
    for await (const line of response.lines) {
      const failure = failureOfLine(line, response.requestId);
      if (failure !== undefined) throw failure;
      yield line;
    }
  }

  async #call<T extends object>(
    sender: Sender<T>,
    request: RequestFor,
  ): Promise<{ response: T; hint: Hint | undefined }> {
    const { session } = this.#options;
    const token = await session.token();
    if (token !== undefined && !request(token).path.startsWith("/v1/")) await this.#check();
    let response = await this.#send(sender, request(token), token);
    if (isUnauthorized(response) && token !== undefined) {
      const renewed = await session.renew(token);
      if (renewed !== undefined) response = await this.#send(sender, request(renewed), renewed);
    }
    return { response, hint: isUnauthorized(response) ? this.#hint(token) : undefined };
  }

  /** Once: a command may call several endpoints. */
  #check(): Promise<void> {
    this.#checked ??= this.#options.session.check();
    return this.#checked;
  }

  #hint(token: string | undefined): Hint | undefined {
    const { namespace } = this.#options;
    if (token === undefined)
      return { text: `You are not logged in. To log in: ${this.loginCommand}`, exit: EXIT.login };
    if (namespace === undefined) return undefined;
    return { text: `A token counts only in its own namespace. This call went to ${namespace}.`, exit: EXIT.failed };
  }

  #send<T>(sender: Sender<T>, request: ReturnType<RequestFor>, token: string | undefined): Promise<T> {
    const { base, namespace, signal } = this.#options;
    return sender(base, { signal, ...request, token, namespace, timeoutMs: CALL_TIMEOUT_MS });
  }
}

/** Makes the request for a token, which may be renewed between two tries. */
type RequestFor = (token: string | undefined) => Pick<HttpRequest, "method" | "path" | "body" | "headers" | "signal">;

type Sender<T> = (base: URL, request: HttpRequest) => Promise<T>;

function isUnauthorized(response: object): boolean {
  return (response as Partial<HttpResponse>).status === 401;
}

function get(service: string, endpoint: string | undefined, fields = new URLSearchParams()): ReturnType<RequestFor> {
  return { method: "GET", path: pathOf(service, endpoint) + (fields.size > 0 ? `?${fields}` : "") };
}

/** `/helloworld/Call` */
function pathOf(service: string, endpoint?: string): string {
  const segments = [service, ...(endpoint?.split("/") ?? [])];
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}
