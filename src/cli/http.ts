/**
 * One HTTP request to the gateway. Plain node:http, because loading undici would take longer than most commands run,
 * and `fetch` refuses ports that a person may well have chosen. Redirects are not followed: the token stays here.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import packageJson from "../../package.json" with { type: "json" };
import { CommandError, type Exit, interrupted } from "./exit.js";

export interface Request {
  readonly method: "GET" | "POST";
  /** Path and query, below the base address. */
  readonly path: string;
  readonly token?: string | undefined;
  readonly namespace?: string | undefined;
  /** JSON text. */
  readonly body?: string | undefined;
  /** How long the whole exchange may take. */
  readonly timeoutMs: number;
  /** Ends the request early. */
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Names of this computer. */
export const LOOPBACK: readonly string[] = ["127.0.0.1", "[::1]", "localhost"];

/** More than any message the gateway passes on. */
const MAX_ANSWER = 64 * 1024 * 1024;

/** @throws {CommandError} when no answer came. */
export async function send(base: URL, request: Request): Promise<Answer> {
  const timeout = AbortSignal.timeout(request.timeoutMs);
  try {
    const response = await exchange(base, request, timeout);
    return {
      status: response.statusCode ?? 0,
      contentType: response.headers["content-type"] ?? "",
      body: await text(response),
    };
  } catch (error) {
    if (request.signal?.aborted) throw interrupted();
    if (timeout.aborted) {
      throw new CommandError(`Portico at ${base.origin} did not answer within ${request.timeoutMs / 1000} s.`);
    }
    throw noAnswer(base, error as NodeJS.ErrnoException);
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

function headersOf({ token, namespace, body }: Request): Record<string, string> {
  return {
    accept: "application/json",
    "user-agent": `portico/${packageJson.version}`,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(namespace !== undefined && { "platform-namespace": namespace }),
    ...(body !== undefined && { "content-type": "application/json", "content-length": `${Buffer.byteLength(body)}` }),
  };
}

async function text(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new Error(`the answer is larger than ${MAX_ANSWER / 1024 / 1024} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function noAnswer(base: URL, error: NodeJS.ErrnoException): CommandError {
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

function errorObject(answer: Answer): { Id?: string; Detail: string; Details?: unknown } {
  try {
    const object = JSON.parse(answer.body);
    if (typeof object?.Detail === "string") return object;
  } catch {
    // Then it is somebody else who answers there.
  }
  return { Detail: `The answer (HTTP ${answer.status}) is not Portico's. Is the address right?` };
}
