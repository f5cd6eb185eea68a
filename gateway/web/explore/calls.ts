/**
 * A call that the visitor makes, over HTTP, or over a WebSocket if the endpoint takes a stream of
 * messages (docs/streams.md). Each message of the response is passed on unchanged, also an error.
 */
import { readError, readStreamError } from "../../../src/api/errors.js";
import { LineSplitter } from "../../../src/api/lines.js";
import { ApiError, get } from "../http.js";
import { type Envelopes, lastLineFailure, statusFailure } from "./envelopes.js";

export interface Call {
  readonly method: string;
  /** Such as `/helloworld/Call`. */
  readonly path: string;
  /** JSON text; undefined for none. */
  readonly body: string | undefined;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly envelopes: Envelopes | undefined;
}

/** Status line and headers of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly requestId: string;
  /** Milliseconds from the request to these headers. */
  readonly milliseconds: number;
  readonly contentType: string;
  /** Whether the body is lines, each with a message. */
  readonly isStream: boolean;
  /** Each a name and a value. */
  readonly headers: readonly (readonly [string, string])[];
}

export interface ResponseListener {
  onHead(head: ResponseHead): void;
  /** One message, or the whole body if it is text of another content type. */
  onMessage(text: string): void;
  /** The whole body if it is no text. */
  onBytes(bytes: Uint8Array<ArrayBuffer>): void;
}

/** Why a call was refused or failed. */
export interface Failure {
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The error object's Detail; empty if there is none. */
  readonly detail: string;
  /** The error object's Details, such as a google.rpc.BadRequest. */
  readonly details?: readonly unknown[] | undefined;
}

/**
 * The failure of a call that was not sent, because the session has ended. The visitor signs in and
 * sends again.
 */
export const SESSION_ENDED: Failure = { status: 0, detail: "Your session has ended. Sign in again, then send again." };

const TEXT = /^(?:text\/|application\/(?:json|x-ndjson|xml))/;

/**
 * Makes a call, and resolves when the response has ended. The result is the reason if the call
 * failed.
 * @throws {ApiError} when there is no response, or it breaks off
 * @throws {DOMException} AbortError
 */
export async function makeCall(
  call: Call,
  listener: ResponseListener,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const started = performance.now();
  try {
    const response = await fetch(call.path, {
      method: call.method,
      headers: headersOf(call),
      body: call.body ?? null,
      credentials: "omit",
      redirect: "error",
      signal,
    });
    const contentType = response.headers.get("Content-Type") ?? "";
    const isLines = response.ok && call.envelopes === "lines";
    const isStream = isLines || contentType.startsWith("application/x-ndjson");
    listener.onHead({
      status: response.status,
      statusText: response.statusText,
      requestId: response.headers.get("X-Request-Id") ?? "",
      milliseconds: performance.now() - started,
      contentType,
      isStream,
      headers: [...response.headers],
    });
    if (isStream && response.body) {
      const last = await readMessages(response.body, listener);
      return isLines ? lastLineFailure(last) : streamFailure(last);
    }
    if (!TEXT.test(contentType)) {
      listener.onBytes(new Uint8Array(await response.arrayBuffer()));
      return response.ok ? undefined : { status: response.status, detail: "" };
    }
    const text = await response.text();
    listener.onMessage(text);
    if (response.ok) return undefined;
    const error = readError(text);
    if (error === undefined && call.envelopes !== undefined) return statusFailure(response.status, text);
    return { status: response.status, detail: error?.Detail ?? "", details: error?.Details };
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    throw ApiError.from(thrown);
  }
}

function headersOf({ body, token, namespace }: Call): Record<string, string> {
  return {
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(namespace === undefined ? {} : { "Platform-Namespace": namespace }),
  };
}

/** Reads a stream of lines (docs/streams.md). Empty ones are heartbeats. Returns the last one. */
async function readMessages(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  listener: ResponseListener,
): Promise<string> {
  const lines = new LineSplitter();
  const reader = body.getReader();
  let last = "";
  const deliver = (bytes: Uint8Array) => {
    const line = new TextDecoder().decode(bytes);
    if (line.trim() === "") return;
    last = line;
    listener.onMessage(line);
  };
  for (let read = await reader.read(); !read.done; read = await reader.read()) lines.push(read.value).forEach(deliver);
  const unfinished = lines.end();
  if (unfinished !== undefined) deliver(unfinished);
  return last;
}

/** Why a stream of NDJSON failed, which its last line says. */
function streamFailure(last: string): Failure | undefined {
  const error = readStreamError(last);
  return error && { status: error.Code, detail: error.Detail, details: error.Details };
}

export interface WebSocketCall {
  /** Sends a message, once the socket is open. */
  send(text: string): void;
  /** Ends the stream of messages. */
  end(): void;
  cancel(): void;
}

export interface WebSocketListener {
  onOpen(): void;
  onMessage(text: string): void;
  onClose(code: number, reason: string): void;
}

/** Opens a call over a WebSocket. */
export function openWebSocket(
  { path, token }: Pick<Call, "path" | "token">,
  listener: WebSocketListener,
): WebSocketCall {
  // A browser sets no headers on a WebSocket, so the token is offered as a subprotocol.
  const protocols = token === undefined ? ["portico"] : ["portico", `bearer.${token}`];
  const socket = new WebSocket(location.origin.replace(/^http/, "ws") + path, protocols);
  socket.onopen = () => listener.onOpen();
  socket.onmessage = ({ data }) => listener.onMessage(String(data));
  socket.onclose = ({ code, reason }) => listener.onClose(code, reason);
  return {
    send: (text) => socket.send(text),
    end: () => socket.send(""),
    cancel: () => socket.close(),
  };
}

const OK = 1000;
/** The close code of a call that failed is this number plus the HTTP status. */
const STATUS_BASE = 4000;

/** Why the gateway closed the socket; undefined when the call succeeded. */
export function readClose(code: number, reason: string): Failure | undefined {
  if (code === OK) return undefined;
  return { status: Math.max(0, code - STATUS_BASE), detail: reason || "The connection broke off." };
}

const UPGRADE_REQUIRED = 426;

/**
 * Finds out why a socket did not open, because a browser does not report that to a page. A plain
 * request is refused for the same reasons. If there is no such reason, the gateway responds to it
 * with 426.
 */
export async function findOpenFailure({ path, token }: Pick<Call, "path" | "token">): Promise<Failure> {
  try {
    await get(path, { token });
  } catch (thrown) {
    const { status, message } = ApiError.from(thrown);
    if (status !== UPGRADE_REQUIRED) return { status, detail: message };
  }
  return {
    status: 0,
    detail: "The gateway takes this call, but no WebSocket could be opened. A proxy on the way may not let it through.",
  };
}
