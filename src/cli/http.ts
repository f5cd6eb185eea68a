/**
 * One HTTP request to the gateway. Plain node:http, because loading undici would take longer than most commands run,
 * and `fetch` refuses ports that a person may well have chosen. Redirects are not followed: the token stays here.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import packageJson from "../../package.json" with { type: "json" };
import { CommandError, type Exit, interrupted } from "./exit.js";
import { linesOf } from "./lines.js";

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
}

/** What an endpoint answered that answers with raw bytes. */
export interface RawAnswer {
  readonly contentType: string;
  /** As they come. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** Names of this computer. */
export const LOOPBACK: readonly string[] = ["127.0.0.1", "[::1]", "localhost"];

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
export function sendForMany(base: URL, request: Request): Promise<Answer | AsyncIterable<string> | RawAnswer> {
  return receive<Answer | AsyncIterable<string> | RawAnswer>(base, request, (response) => {
    if (isRaw(response)) return { contentType: typeOf(response), pieces: piecesOf(base, request, response) };
    return typeOf(response).startsWith("application/x-ndjson")
      ? messagesOf(base, request, response)
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
    throw request.signal?.aborted || !late.signal.aborted ? brokenOff(base, request, error) : tooLate(base, request);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(base: URL, { timeoutMs }: Request): CommandError {
  return new CommandError(`Portico at ${base.origin} did not answer within ${timeoutMs / 1000} s.`);
}

function brokenOff(base: URL, { signal }: Request, error: unknown): CommandError {
  return signal?.aborted ? interrupted() : noAnswer(base, error as NodeJS.ErrnoException);
}

function typeOf(response: IncomingMessage): string {
  return response.headers["content-type"] ?? "";
}

async function wholeAnswer(response: IncomingMessage): Promise<Answer> {
  return { status: response.statusCode ?? 0, contentType: typeOf(response), body: await text(response) };
}

async function* piecesOf(base: URL, request: Request, response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Buffer>;
  } catch (error) {
    throw brokenOff(base, request, error);
  }
}

/** Lines that are not empty: empty ones only keep the connection. */
async function* messagesOf(base: URL, request: Request, response: IncomingMessage): AsyncGenerator<string> {
  try {
    for await (const line of linesOf(response)) if (line.length > 0) yield line.toString();
  } catch (error) {
    throw brokenOff(base, request, error);
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

export function noAnswer(base: URL, error: NodeJS.ErrnoException): CommandError {
  if (error.code === "ECONNREFUSED") {
    const advice = LOOPBACK.includes(base.hostname) ? "Start it with: portico server" : "Is the address right?";
    return new CommandError(`Portico does not answer at ${base.origin}. ${advice}`);
  }
  if (error.code === "ENOTFOUND" || error.code === "EAI_AGAIN") {
    return new CommandError(`There is no host ${base.hostname}. Is the address ${base.origin} right?`);
  }
  return new CommandError(`The call to ${base.origin} broke off: ${error.message}`);
}

/**
 * The JSON of an answer.
 * @throws {CallFailure} when the call failed, or it was not Portico that answered.
 */
export function jsonOf(answer: Answer, hint?: Hint): string {
  if (answer.status === 200 && answer.contentType.startsWith("application/json")) return answer.body;
  throw new CallFailure(answer, hint);
}

/** What may help where a call failed. */
export interface Hint {
  readonly text: string;
  readonly exit: Exit;
}

/** HTTP status of an endpoint that takes a stream of messages, and so is not called by plain HTTP. */
export const TAKES_STREAM = 426;

/** What the gateway answered to a call that failed: its `Detail`, and the `Details` where a service sent any. */
export class CallFailure extends CommandError {
  /** HTTP status. */
  readonly status: number;
  /** The service that the call was directed to; `gateway` when none was found. */
  readonly service: string | undefined;

  constructor(answer: Answer, hint?: Hint) {
    const { Id, Detail, Details } = errorObject(answer);
    const details = Details === undefined ? [] : [JSON.stringify(Details, null, 2)];
    super([Detail, ...details, ...(hint ? [hint.text] : [])].join("\n"), hint?.exit);
    this.status = answer.status;
    this.service = Id;
  }
}

function errorObject(answer: Answer): ErrorObject {
  return (
    readError(answer.body) ?? { Detail: `The answer (HTTP ${answer.status}) is not Portico's. Is the address right?` }
  );
}

interface ErrorObject {
  readonly Id?: string;
  readonly Code?: number;
  readonly Detail: string;
  readonly Details?: unknown;
}

/** An error object of Portico's; undefined for everything else that may stand where one could. */
function readError(json: string): ErrorObject | undefined {
  try {
    const object = JSON.parse(json);
    if (typeof object?.Detail === "string") return object;
  } catch {
    // Then it is somebody else's.
  }
  return undefined;
}

/** What the last line of a stream says that failed (docs/streams.md); undefined for a message. */
export function failureOfLine(line: string): CallFailure | undefined {
  const [, json = ""] = /^\{"error":(\{"Id":.*\})\}$/s.exec(line) ?? [];
  return failureOfFrame(json);
}

/** The same for the last frame of a WebSocket. */
export function failureOfFrame(json: string): CallFailure | undefined {
  const error = json.startsWith('{"Id":') ? readError(json) : undefined;
  if (error?.Code === undefined) return undefined;
  return new CallFailure({ status: error.Code, contentType: "application/json", body: json });
}
