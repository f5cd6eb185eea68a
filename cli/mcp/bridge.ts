/**
 * Transfers messages of the Model Context Protocol between lines and HTTP. It adds the headers that
 * repeat parts of the body
 * (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http). It
 * cancels a request by closing its HTTP request, which is how MCP cancels requests over HTTP.
 */

import type { HttpResponse, StreamResponse } from "../http/request.js";
import { CommandError } from "../terminal/exit.js";

export interface BridgeOptions {
  /** @throws {CommandError} (rejects) when there was no response */
  readonly send: (
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => Promise<HttpResponse | StreamResponse>;
  /** Writes one message. */
  readonly write: (message: string) => void;
  /** Ends every request. */
  readonly signal: AbortSignal;
}

type Id = string | number;
type Message = { readonly id?: Id; readonly method?: string; readonly params?: Readonly<Record<string, unknown>> };

/**
 * Maximum number of requests that wait for a response. The next line is read when there are fewer.
 */
const MAX_WAITING = 100;
const LISTEN = "subscriptions/listen";
const INTERNAL_ERROR = -32603;
const INVALID_REQUEST = -32600;
const PARSE_ERROR = -32700;

export class Bridge {
  readonly #options: BridgeOptions;
  readonly #waiting = new Map<Promise<void>, { readonly message: Message; readonly abort: AbortController }>();
  /** The protocol version in the response to `initialize`. */
  #negotiated: string | undefined;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** Forwards a message. Resolves when the next message may come. The response is written later. */
  async receive(line: string): Promise<void> {
    let message: Message;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#options.write(failure(undefined, PARSE_ERROR, "The line is not JSON"));
    }
    if (typeof message !== "object" || message === null || Array.isArray(message))
      return this.#options.write(failure(undefined, INVALID_REQUEST, "The line is not one message: a JSON object"));
    if (message.method === "notifications/cancelled") return this.#cancel(message.params?.requestId);
    const abort = new AbortController();
    const done: Promise<void> = this.#exchange(line, message, abort.signal).finally(() => this.#waiting.delete(done));
    this.#waiting.set(done, { message, abort });
    // Later requests are sent with the protocol version that this request negotiates.
    if (message.method === "initialize") await done;
    while (this.#waiting.size >= MAX_WAITING) await Promise.race(this.#waiting.keys());
  }

  /** Ends the input. Resolves when all requests have a response. Subscriptions are ended. */
  async end(): Promise<void> {
    for (const { message, abort } of this.#waiting.values()) if (message.method === LISTEN) abort.abort();
    await Promise.all(this.#waiting.keys());
  }

  #cancel(id: unknown): void {
    for (const { message, abort } of this.#waiting.values()) if (message.id === id) abort.abort();
  }

  async #exchange(line: string, message: Message, cancelled: AbortSignal): Promise<void> {
    const { send, write, signal } = this.#options;
    let last: string | undefined;
    try {
      const response = await send(line, this.#headersOf(message), AbortSignal.any([signal, cancelled]));
      for await (const reply of "lines" in response ? eventsOf(response.lines) : bodyOf(response, message.id)) {
        if (cancelled.aborted) return;
        if (message.method === "initialize") this.#negotiated = JSON.parse(reply).result?.protocolVersion;
        write(reply);
        last = reply;
      }
      // A stream also ends when the caller may not listen any more.
      if (message.id !== undefined && !cancelled.aborted && !isResponse(last))
        write(failure(message.id, INTERNAL_ERROR, "The gateway has ended the request without a response"));
    } catch (error) {
      if (cancelled.aborted || signal.aborted || message.id === undefined) return;
      const { message: reason } = error as Error;
      write(
        failure(
          message.id,
          INTERNAL_ERROR,
          error instanceof CommandError ? reason : `The gateway broke off: ${reason}`,
        ),
      );
    }
  }

  #headersOf({ method, params }: Message): Record<string, string> {
    const meta = params?._meta as Readonly<Record<string, unknown>> | undefined;
    const version = meta?.["io.modelcontextprotocol/protocolVersion"] ?? this.#negotiated;
    return {
      accept: "application/json, text/event-stream",
      ...(typeof version === "string" && { "mcp-protocol-version": headerValue(version) }),
      ...(method !== undefined && { "mcp-method": headerValue(method) }),
      ...(typeof params?.name === "string" && { "mcp-name": headerValue(params.name) }),
    };
  }
}

/** A header's value. If it cannot be sent unchanged, it is sent in base64 with a marker. */
function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** Whether a message is a response, and not a notification before it. */
function isResponse(message: string | undefined): boolean {
  return message !== undefined && JSON.parse(message).id !== undefined;
}

const DATA = "data: ";

async function* eventsOf(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) if (line.startsWith(DATA)) yield line.slice(DATA.length);
}

/**
 * The response to a request. If it comes from another server, such as a proxy, an error made from
 * its text.
 */
async function* bodyOf({ status, body }: HttpResponse, id: Id | undefined): AsyncGenerator<string> {
  if (id === undefined || body === "") return;
  let response: { readonly jsonrpc?: unknown; readonly id?: unknown; readonly Detail?: unknown } = {};
  try {
    response = JSON.parse(body);
  } catch {
    // Handled below.
  }
  // A gateway that refuses a message unread does not know its ID, and sends none or null.
  if (response?.jsonrpc === "2.0" && (response.id ?? null) === null) yield JSON.stringify({ ...response, id });
  else if (response?.jsonrpc === "2.0") yield body.includes("\n") ? JSON.stringify(response) : body;
  else
    yield failure(
      id,
      status,
      typeof response?.Detail === "string" ? response.Detail : `The gateway responded with ${status}`,
    );
}

function failure(id: Id | undefined, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code, message } });
}
