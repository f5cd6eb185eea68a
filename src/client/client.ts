/**
 * A client of Portico for Node and browsers: calls by fetch, streams by NDJSON or WebSocket,
 * errors, deadlines and retries. A generated client extends it with its services. Nothing here
 * imports a package, because `portico client` writes these files as one into the file of a
 * generated client.
 */
import { PorticoError, readFailure, toConnectionError } from "./error.js";
import { LIMITS, messagesOf, piecesOf } from "./lines.js";
import type { CallOptions, EndpointEntry, EndpointTable, Messages, PorticoOptions } from "./options.js";
import { CallScope } from "./scope.js";
import { TokenSource } from "./token.js";
import { type HttpBodyInput, toJson, withBigints } from "./values.js";
import { Socket } from "./websocket.js";

const DEFAULT_URL = "http://127.0.0.1:8080";
const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 2;
/** The maximum wait before the first retry. It doubles with each retry, up to MAX_WAIT_MS. */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 2_000;
/** A call without a deadline is not retried if the response asks for a longer wait. */
const MAX_RETRY_AFTER_MS = 30_000;
/** The maximum of the header Grpc-Timeout in milliseconds: it has at most eight digits. */
const MAX_GRPC_TIMEOUT_MS = 99_999_999;

export class PorticoClient {
  readonly #url: string;
  readonly #tokens: TokenSource;
  readonly #namespace: string | undefined;
  readonly #timeout: number;
  readonly #retries: number;

  constructor({ url, token, namespace, timeout, retries }: PorticoOptions = {}) {
    this.#url = (url ?? (fromEnvironment("PORTICO_URL") || pageOrigin() || DEFAULT_URL)).replace(/\/+$/, "");
    this.#tokens = new TokenSource(token ?? fromEnvironment("PORTICO_TOKEN"));
    this.#namespace = (namespace ?? fromEnvironment("PORTICO_NAMESPACE")) || undefined;
    this.#timeout = timeout ?? DEFAULT_TIMEOUT_MS;
    this.#retries = retries ?? DEFAULT_RETRIES;
  }

  /** Makes the methods of a service from its table. */
  protected bind<T>(service: string, table: EndpointTable): T {
    const methods = Object.entries(table).map(([name, entry]) => [
      name,
      isEndpoint(entry) ? this.#method(service, entry) : this.bind(service, entry),
    ]);
    return Object.fromEntries(methods) as T;
  }

  #method(service: string, endpoint: EndpointEntry): unknown {
    switch (endpoint.shape) {
      case "unary":
        return (request: unknown, options?: CallOptions) => this.#unary(service, endpoint, request, options);
      case "server":
        return (request: unknown, options?: CallOptions) => this.#stream(service, endpoint, request, options);
      case "client":
        return (requests: Messages<unknown>, options?: CallOptions) =>
          this.#collect(service, endpoint, requests, options);
      case "bidi":
        return (requests: Messages<unknown>, options?: CallOptions) =>
          this.#converse(service, endpoint, requests, options);
    }
  }

  async #unary(service: string, endpoint: EndpointEntry, request: unknown, options?: CallOptions): Promise<unknown> {
    const timeout = options?.timeout ?? this.#timeout;
    const scope = new CallScope(service, { signal: options?.signal, timeout });
    try {
      return await this.#retry(scope, endpoint, options, async () => {
        const response = await this.#post(scope, endpoint, request);
        if (!endpoint.answersBytes && hasNoContent(response)) return {};
        return await this.#read(scope, () =>
          endpoint.answersBytes ? readBytes(response) : readJson(response, endpoint),
        );
      });
    } finally {
      scope.end();
    }
  }

  async *#stream(
    service: string,
    endpoint: EndpointEntry,
    request: unknown,
    options: CallOptions = {},
  ): AsyncGenerator<unknown> {
    const scope = new CallScope(service, options);
    try {
      const response = await this.#retry(scope, endpoint, options, () =>
        scope.within(this.#post(scope, endpoint, request), LIMITS.maxSilenceMs),
      );
      if (!endpoint.answersBytes) return yield* converted(messagesOf(scope, response), endpoint);
      const contentType = response.headers.get("content-type") ?? "";
      for await (const data of piecesOf(scope, response)) yield { contentType, data };
    } finally {
      scope.end();
    }
  }

  async #collect(
    service: string,
    endpoint: EndpointEntry,
    requests: Messages<unknown>,
    options?: CallOptions,
  ): Promise<unknown> {
    for await (const response of this.#converse(service, endpoint, requests, options)) return response;
    const Detail = "The call ended without a response";
    throw new PorticoError({ Id: service, Code: 502, Detail, Status: "Bad Gateway" });
  }

  async *#converse(
    service: string,
    endpoint: EndpointEntry,
    requests: Messages<unknown>,
    options: CallOptions = {},
  ): AsyncGenerator<unknown> {
    const scope = new CallScope(service, options);
    let socket: Socket | undefined;
    try {
      // Opening a WebSocket calls nothing: the service is called with the first message. So every
      // failure to open is safe to retry.
      socket = await this.#retry(scope, { ...endpoint, idempotent: true }, options, () => this.#open(scope, endpoint));
      socket.sendAll(requests).catch((error) => scope.fail(error));
      yield* converted(socket.messages(), endpoint);
    } finally {
      socket?.close();
      scope.end();
    }
  }

  /**
   * Retries a call when that is safe: when no connection could be opened, or when the gateway
   * refused it with 429 or 503 before it called a service. An idempotent endpoint is also retried
   * after any 429, any 503, and a broken connection. After a 401 a call is repeated once, if there
   * is another token.
   */
  async #retry<T>(
    scope: CallScope,
    { idempotent }: EndpointEntry,
    { retries = this.#retries }: CallOptions = {},
    attempt: () => Promise<T>,
  ): Promise<T> {
    scope.token = await this.#tokens.get(scope);
    let isRenewed = false;
    for (let tried = 0; ; tried++) {
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof PorticoError && error.Code === 401 && !isRenewed) {
          const renewed = await this.#tokens.renew(scope, scope.token);
          if (renewed === undefined) throw error;
          scope.token = renewed;
          isRenewed = true;
          tried--;
          continue;
        }
        if (tried >= retries || !(error instanceof PorticoError) || scope.signal.aborted) throw error;
        const isBusy = error.Code === 429 || error.Code === 503;
        const isSafe = error.neverSent || (isBusy && (idempotent || error.Id === GATEWAY));
        const wait = waitBefore(tried, error.retryAfter);
        if (!isSafe || wait > (scope.timeLeft ?? MAX_RETRY_AFTER_MS)) throw error;
        await scope.wait(wait);
      }
    }
  }

  /** @throws {PorticoError} the error in the response */
  async #post(scope: CallScope, endpoint: EndpointEntry, request: unknown): Promise<Response> {
    scope.check();
    const { contentType, data } = endpoint.takesBytes
      ? (request as HttpBodyInput)
      : { contentType: "application/json", data: toJson(request) };
    const headers = { ...this.#headers(scope), "Content-Type": contentType, Accept: "application/json" };
    const init = {
      method: "POST",
      headers: scope.token === undefined ? headers : { ...headers, Authorization: `Bearer ${scope.token}` },
      body: data as string,
      signal: scope.signal,
      redirect: "error",
      credentials: "omit",
    } as const;
    const response = await this.#read(scope, () => fetch(this.#url + this.#pathOf(scope, endpoint), init));
    if (response.ok && (endpoint.answersBytes || isJson(response) || hasNoContent(response))) return response;
    throw await this.#read(scope, () => readFailure(scope.service, response));
  }

  /**
   * Reads from the connection. If that fails, it throws the reason why the call ended, or a
   * connection error.
   */
  async #read<T>(scope: CallScope, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      throw scope.signal.aborted ? scope.signal.reason : toConnectionError(scope.service, this.#url, error);
    }
  }

  /**
   * The WebSocket API does not say why the server refused to open it. So the reason is asked for
   * with a plain request for the same path. Such a request calls no service, because the endpoint
   * needs a WebSocket.
   */
  async #open(scope: CallScope, endpoint: EndpointEntry): Promise<Socket> {
    const url = this.#url + this.#pathOf(scope, endpoint);
    try {
      return await Socket.open(scope, { url, token: scope.token, headers: this.#headers(scope) });
    } catch (error) {
      scope.check();
      if (!(error instanceof PorticoError)) throw error;
      const refused = await this.#post(scope, endpoint, {}).catch((refusal: unknown) => refusal);
      throw refused instanceof PorticoError && refused.Code !== UPGRADE_REQUIRED ? refused : error;
    }
  }

  /**
   * With a token the path begins with `/v1`, where the token must be valid. But a token is valid in
   * its own namespace only, so a call that names a namespace has no `/v1`.
   */
  #pathOf({ token }: CallScope, { path }: EndpointEntry): string {
    return token !== undefined && this.#namespace === undefined ? `/v1${path}` : path;
  }

  #headers({ timeLeft }: CallScope): Record<string, string> {
    return {
      ...(this.#namespace !== undefined && { "Platform-Namespace": this.#namespace }),
      ...(timeLeft !== undefined && { "Grpc-Timeout": `${Math.min(Math.ceil(timeLeft), MAX_GRPC_TIMEOUT_MS)}m` }),
    };
  }
}

/** The `Id` of errors of the gateway that belong to no service, because none was called. */
const GATEWAY = "gateway";
/** The status of the response to a plain request for an endpoint that takes a stream. */
const UPGRADE_REQUIRED = 426;

function isEndpoint(entry: EndpointEntry | EndpointTable): entry is EndpointEntry {
  return typeof entry.path === "string";
}

function isJson({ headers }: Response): boolean {
  return /^application\/(?:json|x-ndjson)\b/.test(headers.get("content-type") ?? "");
}

/** Whether the response is an empty message, because an option of the service sets its status. */
function hasNoContent({ status }: Response): boolean {
  return status === 204 || status === 205;
}

async function readJson(response: Response, { int64 }: EndpointEntry): Promise<unknown> {
  const message: unknown = await response.json();
  return int64 === undefined ? message : withBigints(message, int64);
}

async function* converted(messages: AsyncGenerator<unknown>, { int64 }: EndpointEntry): AsyncGenerator<unknown> {
  if (int64 === undefined) return yield* messages;
  for await (const message of messages) yield withBigints(message, int64);
}

async function readBytes(response: Response): Promise<{ contentType: string; data: Uint8Array }> {
  const data = new Uint8Array(await response.arrayBuffer());
  return { contentType: response.headers.get("content-type") ?? "", data };
}

/**
 * Milliseconds, with jitter, so that clients that failed at the same time do not retry at the same
 * time.
 */
function waitBefore(tried: number, retryAfter = 0): number {
  return retryAfter * 1000 + Math.random() * Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** tried);
}

function fromEnvironment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Readonly<Record<string, string | undefined>> } };
  return process?.env?.[name];
}

function pageOrigin(): string | undefined {
  const { location } = globalThis as { location?: { origin?: string } };
  return location?.origin?.startsWith("http") ? location.origin : undefined;
}
