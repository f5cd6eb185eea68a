/**
 * One HTTP request to the gateway. Plain node:http, because loading undici would take longer than most commands run,
 * and `fetch` refuses ports that a person may well have chosen. Redirects are not followed: the token stays here.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import packageJson from "../../package.json" with { type: "json" };
import { CommandError, interrupted } from "../terminal/exit.js";
import { CallFailure, type Hint } from "./failure.js";
import { linesOf } from "./lines.js";
import { noAnswer } from "./unreachable.js";

export interface Request {
  readonly method: "GET" | "POST";
  /** Path and query, below the base address. */
  readonly path: string;
  readonly token?: string | undefined;
  readonly namespace?: string | undefined;
  /** JSON, or what else the endpoint takes. */
  readonly body?: string | Uint8Array | undefined;
  /** How long the whole exchange may take; of a stream, the time until it begins. */
  readonly timeoutMs: number;
  /** Ends the request early. */
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** `X-Request-Id` of the response. */
  readonly requestId: string | undefined;
}

/** The answer of an endpoint that streams. */
export interface StreamAnswer {
  readonly requestId: string | undefined;
  /** Lines that are not empty, as they come. */
  readonly lines: AsyncIterable<string>;
}

/** What an endpoint answered that answers with raw bytes. */
export interface RawAnswer {
  readonly contentType: string;
  /** As they come. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** More than any message the gateway passes on. */
const MAX_ANSWER = 64 * 1024 * 1024;

/** @throws {CommandError} when no answer came. */
export async function send(base: URL, request: Request): Promise<Answer> {
  return receive(base, request, wholeAnswer);
}

/**
 * The same for an endpoint that may stream: then the answer is its lines, as they come, for as long as they do; or that
 * may answer with raw bytes.
 * @throws {CommandError} when no answer came, or (of the lines and bytes) when it broke off.
 */
export function sendForMany(base: URL, request: Request): Promise<Answer | StreamAnswer | RawAnswer> {
  return receive<Answer | StreamAnswer | RawAnswer>(base, request, (response) => {
    if (isRaw(response)) return { contentType: typeOf(response), pieces: piecesOf(base, request, response) };
    return typeOf(response).startsWith("application/x-ndjson")
      ? { requestId: requestIdOf(response), lines: messagesOf(base, request, response) }
      : wholeAnswer(response);
  });
}

/** By the header that the gateway gives to what a service sent as it is (docs/streams.md). */
function isRaw({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === 200 && headers["content-security-policy"] === "sandbox";
}

async function receive<T>(base: URL, request: Request, read: (response: IncomingMessage) => T | Promise<T>) {
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

function tooLate(base: URL, { timeoutMs }: Request): CommandError {
  return new CommandError(`Portico at ${base.origin} did not answer within ${timeoutMs / 1000} s.`);
}

async function brokenOff(base: URL, { signal }: Request, error: unknown): Promise<CommandError> {
  return signal?.aborted ? interrupted() : noAnswer(base, error as NodeJS.ErrnoException);
}

function typeOf(response: IncomingMessage): string {
  return response.headers["content-type"] ?? "";
}

async function wholeAnswer(response: IncomingMessage): Promise<Answer> {
  const requestId = requestIdOf(response);
  return { status: response.statusCode ?? 0, contentType: typeOf(response), body: await text(response), requestId };
}

export function requestIdOf({ headers }: IncomingMessage): string | undefined {
  const id = headers["x-request-id"];
  return typeof id === "string" ? id : undefined;
}

async function* piecesOf(base: URL, request: Request, response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Buffer>;
  } catch (error) {
    throw await brokenOff(base, request, error);
  }
}

/** Lines that are not empty: empty ones only keep the connection. */
async function* messagesOf(base: URL, request: Request, response: IncomingMessage): AsyncGenerator<string> {
  try {
    for await (const line of linesOf(response)) if (line.length > 0) yield line.toString();
  } catch (error) {
    throw await brokenOff(base, request, error);
  }
}

async function exchange(base: URL, request: Request, timeout: AbortSignal): Promise<IncomingMessage> {
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
}: Pick<Request, "token" | "namespace" | "body">): Record<string, string> {
  return {
    accept: "application/json",
    "user-agent": `portico/${packageJson.version}`,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(namespace !== undefined && { "platform-namespace": namespace }),
    ...(body !== undefined && { "content-type": "application/json", "content-length": `${Buffer.byteLength(body)}` }),
  };
}

export async function text(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new Error(`the answer is larger than ${MAX_ANSWER / 1024 / 1024} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * The JSON of an answer.
 * @throws {CallFailure} when the call failed, or it was not Portico that answered.
 */
export function jsonOf(answer: Answer, hint?: Hint): string {
  if (answer.status === 200 && answer.contentType.startsWith("application/json")) return answer.body;
  throw new CallFailure(answer, hint);
}
