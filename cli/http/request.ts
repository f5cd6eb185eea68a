/**
 * One HTTP request to the gateway. It uses plain node:http: loading undici would take longer than
 * most commands run, and `fetch` rejects some ports. Redirects are not followed, so the token is
 * sent to no other address.
 */

import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import packageJson from "../../package.json" with { type: "json" };
import { LineSplitter } from "../../src/api/lines.js";
import { asBuffer } from "../../src/wire/buffer.js";
import { CommandError, EXIT, interrupted } from "../terminal/exit.js";
import { readAll } from "../terminal/input.js";
import type { RawBytes } from "../terminal/output.js";
import { CallFailure, type Hint, toCommandError } from "./failure.js";

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Path and query, relative to the base address. */
  readonly path: string;
  readonly token?: string | undefined;
  readonly namespace?: string | undefined;
  /** JSON, or raw bytes if the endpoint takes them. */
  readonly body?: string | Uint8Array | undefined;
  /** Further headers, by name in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Maximum time of the request and its response. For a stream, the time until it begins. */
  readonly timeoutMs: number;
  /** Ends the request early. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Maximum time in which a stream sends nothing, in milliseconds; default none. The gateway sends
   * a heartbeat every 15 s.
   */
  readonly maxSilenceMs?: number | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** `X-Request-Id` of the response. */
  readonly requestId: string | undefined;
  /** The server's clock: `Date` of the response (RFC 9110 §6.6.1). */
  readonly date: string | undefined;
}

/** The response of an endpoint that streams. */
export interface StreamResponse {
  readonly requestId: string | undefined;
  /** Lines that are not empty, as they arrive. */
  readonly lines: AsyncIterable<string>;
}

/** Bytes. More than any message that the gateway forwards. */
const MAX_RESPONSE = 64 * 1024 * 1024;

/** @throws {CommandError} when there was no response. */
export async function send(base: URL, request: HttpRequest): Promise<HttpResponse> {
  return receive(base, request, readResponse);
}

/**
 * Like `send`, for an endpoint that may respond with a stream or with raw bytes. The lines of a
 * stream, or the bytes, are yielded as they arrive, without a time limit.
 * @throws {CommandError} when there was no response. Reading lines or bytes throws it when the
 * response breaks off.
 */
export function sendStreaming(base: URL, request: HttpRequest): Promise<HttpResponse | StreamResponse | RawBytes> {
  return receive<HttpResponse | StreamResponse | RawBytes>(base, request, (response) => {
    if (isRaw(response)) return { contentType: typeOf(response), chunks: chunksOf(base, request, response) };
    return /^(?:application\/x-ndjson|text\/event-stream)/.test(typeOf(response))
      ? { requestId: requestIdOf(response), lines: messagesOf(base, request, response) }
      : readResponse(response);
  });
}

/**
 * Whether a response is raw bytes of a service: the gateway marks them with a header
 * (docs/streams.md).
 */
function isRaw({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === 200 && headers["content-security-policy"] === "sandbox";
}

/** The whole response, where its body is not text. */
export async function sendForBytes(
  base: URL,
  request: HttpRequest,
): Promise<Omit<HttpResponse, "body" | "date"> & { readonly body: Buffer }> {
  return receive(base, request, async (response) => ({
    status: response.statusCode ?? 0,
    contentType: typeOf(response),
    body: await readBytes(response),
    requestId: requestIdOf(response),
  }));
}

async function receive<T>(base: URL, request: HttpRequest, read: (response: IncomingMessage) => T | Promise<T>) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), request.timeoutMs);
  try {
    return await read(await exchange(base, request, late.signal));
  } catch (error) {
    throw request.signal?.aborted || !late.signal.aborted
      ? await brokenOff(base, request, error)
      : tooLate(base, request);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(base: URL, { timeoutMs }: HttpRequest): CommandError {
  return new CommandError(`Portico at ${base.origin} did not respond within ${timeoutMs / 1000} s.`);
}

async function brokenOff(base: URL, { signal }: HttpRequest, error: unknown): Promise<CommandError> {
  return signal?.aborted ? interrupted() : toCommandError(base, error as NodeJS.ErrnoException);
}

function typeOf(response: IncomingMessage): string {
  return response.headers["content-type"] ?? "";
}

async function readResponse(response: IncomingMessage): Promise<HttpResponse> {
  const requestId = requestIdOf(response);
  const body = await readText(response);
  const { date } = response.headers;
  return { status: response.statusCode ?? 0, contentType: typeOf(response), body, requestId, date };
}

export function requestIdOf({ headers }: IncomingMessage): string | undefined {
  const id = headers["x-request-id"];
  return typeof id === "string" ? id : undefined;
}

async function* chunksOf(base: URL, request: HttpRequest, response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Buffer>;
  } catch (error) {
    throw await brokenOff(base, request, error);
  }
}

/** Lines that are not empty. The gateway sends empty lines as heartbeats. */
async function* messagesOf(base: URL, request: HttpRequest, response: IncomingMessage): AsyncGenerator<string> {
  const { maxSilenceMs } = request;
  if (maxSilenceMs !== undefined)
    response.setTimeout(maxSilenceMs, () => response.destroy(new Error(`nothing came for ${maxSilenceMs / 1000} s`)));
  try {
    for await (const line of linesOf(response)) if (line.length > 0) yield line.toString();
  } catch (error) {
    throw await brokenOff(base, request, error);
  }
}

async function exchange(base: URL, request: HttpRequest, timeout: AbortSignal): Promise<IncomingMessage> {
  const { request: open } = base.protocol === "https:" ? await import("node:https") : await import("node:http");
  const options: RequestOptions = {
    method: request.method,
    path: base.pathname.replace(/\/+$/, "") + request.path,
    headers: headersOf(request),
    signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
    agent: false,
  };
  return new Promise((resolve, reject) => {
    const outgoing: ClientRequest = open(base, options, resolve);
    outgoing.on("error", reject);
    outgoing.end(request.body);
  });
}

export function headersOf({
  token,
  namespace,
  body,
  headers,
}: Pick<HttpRequest, "token" | "namespace" | "body" | "headers">): Record<string, string> {
  return {
    accept: "application/json",
    "user-agent": `portico/${packageJson.version}`,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(namespace !== undefined && { "platform-namespace": namespace }),
    ...(body !== undefined && { "content-type": "application/json", "content-length": `${Buffer.byteLength(body)}` }),
    ...headers,
  };
}

/** The body of a response, at most 64 MiB. */
export async function readText(response: IncomingMessage): Promise<string> {
  return (await readBytes(response)).toString();
}

function readBytes(response: IncomingMessage): Promise<Buffer> {
  const tooLarge = () => new Error(`the response is larger than ${MAX_RESPONSE / 1024 / 1024} MiB`);
  return readAll(response, MAX_RESPONSE, tooLarge);
}

/**
 * The JSON of a response.
 * @throws {CallFailure} when the call failed, or when the response was not from Portico.
 */
export function jsonOf(response: HttpResponse, hint?: Hint): string {
  const { status, contentType, body } = response;
  // Options of a service set other statuses of a success than 200; with these two it has no body.
  if (status === 204 || status === 205) return "{}";
  if (status >= 200 && status < 300 && contentType.startsWith("application/json")) return body;
  throw new CallFailure(response, hint);
}

/** Bytes. More than a gateway takes or returns by default. */
const MAX_LINE = 64 * 1024 * 1024;

/**
 * Lines without their line feeds, as they arrive.
 * @throws {CommandError} when one is longer than 64 MiB.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Buffer> {
  const splitter = new LineSplitter();
  for await (const chunk of chunks) {
    for (const line of splitter.push(chunk)) yield asBuffer(line);
    if (splitter.unfinishedLength > MAX_LINE) throw new CommandError("A line is larger than 64 MiB", EXIT.usage);
  }
  const last = splitter.end();
  if (last !== undefined) yield asBuffer(last);
}
