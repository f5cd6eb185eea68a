/** Calls the gateway with the HTTP API that any client can use, as the session's caller. */
import type { Endpoints } from "../../src/api/types.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { RawBytes } from "../terminal/output.js";
import { CallFailure, failureOfLine, type Hint, LOOPBACK } from "./failure.js";
import { REFLECTION_HEADERS, REFLECTION_PATH, reflect } from "./reflection.js";
import {
  type HttpRequest,
  type HttpResponse,
  jsonOf,
  type StreamResponse,
  send,
  sendForBytes,
  sendStreaming,
} from "./request.js";
import type { Session } from "./session.js";

export interface ClientOptions {
  readonly base: URL;
  readonly session: Session;
  /** The namespace to call in. Undefined means the session's own. */
  readonly namespace: string | undefined;
  /** The command that logs in at the gateway of this client, for error texts. */
  readonly loginCommand: string;
  readonly signal: AbortSignal;
}

/** A little longer than the longest call that a gateway allows by default. */
const CALL_TIMEOUT_MS = 100_000;
/** The time of three heartbeats of a stream, in milliseconds. */
const MAX_SILENCE_MS = 45_000;

/** The members of a request. JSON omits members that are undefined. */
type Members<T> = { readonly [K in keyof T]: T[K] | undefined };

export class GatewayClient {
  readonly #options: ClientOptions;
  #checked: Promise<void> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** The gateway's address, with the path under which a proxy serves it. */
  get address(): string {
    const { origin, pathname } = this.#options.base;
    return origin + pathname.replace(/\/+$/, "");
  }

  /** The command that logs in at the gateway of this client, for error texts. */
  get loginCommand(): string {
    return this.#options.loginCommand;
  }

  /** Whether others can read what is sent: plain HTTP to another host. */
  get exposed(): boolean {
    const { protocol, hostname } = this.#options.base;
    return protocol === "http:" && !LOOPBACK.includes(hostname);
  }

  /**
   * The token of the calls.
   * @throws {CommandError} with exit code 4 when not logged in.
   */
  async token(): Promise<string> {
    const token = await this.#options.session.token();
    if (token !== undefined) return token;
    throw new CommandError(`Not logged in to ${this.address}. Log in first: ${this.loginCommand}`, EXIT.login);
  }

  /**
   * Calls an endpoint of Portico itself. Endpoints of the authority, `auth/…`, need a login.
   * Without a token, the registry lists what every caller may call.
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
   * The gateway's own address for itself (RFC 8414): its setting PORTICO_PUBLIC_URL, if it is set.
   * @throws {CommandError}
   */
  async publicUrl(): Promise<string> {
    const path = "/.well-known/oauth-authorization-server";
    const { response, hint } = await this.#call(send, () => ({ method: "GET", path }));
    return JSON.parse(jsonOf(response, hint)).issuer;
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
   * The files of a service's contract with all imports, each a google.protobuf.FileDescriptorProto.
   * @throws {CommandError}
   */
  contractOf(service: string): Promise<Uint8Array[]> {
    const headers = { ...REFLECTION_HEADERS, "portico-service": service };
    return reflect(service, async (body) => {
      const request: RequestFor = () => ({ method: "POST", path: REFLECTION_PATH, body, headers });
      const { response, hint } = await this.#call(sendForBytes, request);
      if (response.status === 200) return response.body;
      throw new CallFailure({ ...response, body: response.body.toString() }, hint);
    });
  }

  /**
   * Calls an endpoint with JSON, or with raw bytes if it takes them. Yields its response as JSON
   * text, or each response of a stream, or raw bytes. A token, if there is one, must be valid.
   * Without a token, the rules decide.
   * @throws {CommandError}
   */
  post(service: string, endpoint: string, body?: string | Uint8Array): AsyncIterable<string | RawBytes> {
    return this.#responses(this.#post(pathOf(service, endpoint), body));
  }

  /**
   * Like `post`, with fields as query parameters. The gateway converts each to the type of its
   * field.
   * @throws {CommandError}
   */
  get(service: string, endpoint: string | undefined, fields: URLSearchParams): AsyncIterable<string | RawBytes> {
    return this.#responses(() => get(service, endpoint, fields));
  }

  /**
   * Sends messages in order to an endpoint that takes a stream, and yields each response as it
   * arrives.
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
   * @returns the response, or the lines of a stream of events
   * @throws {CommandError}
   */
  async sendMcp(
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<HttpResponse | StreamResponse> {
    const maxSilenceMs = MAX_SILENCE_MS;
    const request: RequestFor = () => ({ method: "POST", path: "/mcp", body, headers, signal, maxSilenceMs });
    const { response } = await this.#call(sendStreaming, request);
    return response as HttpResponse | StreamResponse;
  }

  /**
   * `/v1`, where a token must be valid. Not if a namespace was given: the token may belong to
   * another namespace, and would not be valid in this one.
   */
  #versioned(token: string | undefined): string {
    return token !== undefined && this.#options.namespace === undefined ? "/v1" : "";
  }

  #post(path: string, body: string | Uint8Array | undefined): RequestFor {
    return (token) => ({ method: "POST", path: this.#versioned(token) + path, body });
  }

  async *#responses(request: RequestFor): AsyncGenerator<string | RawBytes> {
    const { response, hint } = await this.#call(sendStreaming, (token) => ({
      ...request(token),
      maxSilenceMs: MAX_SILENCE_MS,
    }));
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

  /** Checks the token only once: a command may call several endpoints. */
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

/** Creates the request for a token. The token may be renewed between two attempts. */
type RequestFor = (
  token: string | undefined,
) => Pick<HttpRequest, "method" | "path" | "body" | "headers" | "signal" | "maxSilenceMs">;

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
