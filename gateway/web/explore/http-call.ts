/** A call as the person at the page makes it: every answer is handed over as it came, errors too. */
import { readError, readStreamError } from "../../../src/api/errors.js";
import { LineSplitter } from "../../../src/api/lines.js";
import { ApiError, get } from "../http.js";

export interface Call {
  /** As it is called, such as `/helloworld/Call`. */
  readonly path: string;
  readonly body: string;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly requestId: string;
  /** Until the headers, in milliseconds. */
  readonly milliseconds: number;
  readonly contentType: string;
}

export interface Listener {
  onAnswer(answer: Answer): void;
  /** One message, or a body of another kind as a whole. */
  onMessage(text: string): void;
}

/** Why a call failed. */
export interface Refusal {
  /** HTTP status; 0 where there is none. */
  readonly status: number;
  /** The error object's Detail; empty where there is none. */
  readonly detail: string;
}

/** Nothing was sent: the person who is signed in has to do it again. */
export const SESSION_ENDED: Refusal = { status: 0, detail: "Your session has ended. Sign in again, then send again." };

/** Bytes of which nothing sensible can be shown as text. */
const TEXT = /^(?:text\/|application\/(?:json|x-ndjson|xml))/;

/**
 * Makes a call, until its answer has ended. Resolves to why it failed, if it did.
 * @throws {ApiError} when there is no answer, or it breaks off. @throws {DOMException} AbortError
 */
export async function makeCall(call: Call, listener: Listener, signal: AbortSignal): Promise<Refusal | undefined> {
  const started = performance.now();
  try {
    const response = await fetch(call.path, {
      method: "POST",
      headers: headersOf(call),
      body: call.body,
      credentials: "omit",
      redirect: "error",
      signal,
    });
    const contentType = response.headers.get("Content-Type") ?? "";
    listener.onAnswer({
      status: response.status,
      statusText: response.statusText,
      requestId: response.headers.get("X-Request-Id") ?? "",
      milliseconds: performance.now() - started,
      contentType,
    });
    if (contentType.startsWith("application/x-ndjson") && response.body)
      return await readLines(response.body, listener);
    const text = TEXT.test(contentType)
      ? await response.text()
      : `${(await response.arrayBuffer()).byteLength} bytes of ${contentType || "no known type"}`;
    listener.onMessage(text);
    return response.ok ? undefined : { status: response.status, detail: readError(text)?.Detail ?? "" };
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    throw ApiError.from(thrown);
  }
}

async function readLines(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  listener: Listener,
): Promise<Refusal | undefined> {
  const lines = new LineSplitter();
  const reader = body.getReader();
  let last = "";
  const deliver = (bytes: Uint8Array) => {
    const line = new TextDecoder().decode(bytes);
    // An empty line is a heartbeat (docs/streams.md).
    if (line.trim() === "") return;
    last = line;
    listener.onMessage(line);
  };
  for (let read = await reader.read(); !read.done; read = await reader.read()) lines.push(read.value).forEach(deliver);
  const unfinished = lines.end();
  if (unfinished !== undefined) deliver(unfinished);
  const error = readStreamError(last);
  return error && { status: error.Code, detail: error.Detail };
}

function headersOf({ token, namespace }: Call): Record<string, string> {
  return {
    "Content-Type": "application/json",
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(namespace === undefined ? {} : { "Platform-Namespace": namespace }),
  };
}

export interface Conversation {
  /** Sends a message, once it is open. */
  send(text: string): void;
  /** Says that no more messages come. */
  end(): void;
  /** Breaks off. */
  close(): void;
}

export interface ConversationListener {
  onOpen(): void;
  onMessage(text: string): void;
  /** 1000 when all went well; 4000 and the HTTP status when the call failed; 1006 when there was no connection. */
  onClose(code: number, reason: string): void;
}

/** Opens a WebSocket for a call that takes a stream (docs/streams.md). */
export function converse({ path, token }: Omit<Call, "body">, listener: ConversationListener): Conversation {
  const protocols = token === undefined ? ["portico"] : ["portico", `bearer.${token}`];
  const socket = new WebSocket(location.origin.replace(/^http/, "ws") + path, protocols);
  socket.onopen = () => listener.onOpen();
  socket.onmessage = ({ data }) => listener.onMessage(String(data));
  socket.onclose = ({ code, reason }) => listener.onClose(code, reason);
  return {
    send: (text) => socket.send(text),
    end: () => socket.send(""),
    close: () => socket.close(),
  };
}

/**
 * Why a WebSocket could not be opened, which a browser tells nobody. A plain request is refused for the same reasons, and
 * where there is none, with 426.
 */
export async function whyNotOpened({ path, token }: Pick<Call, "path" | "token">): Promise<Refusal> {
  try {
    await get(path, { token });
  } catch (thrown) {
    const { status, message } = ApiError.from(thrown);
    if (status !== UPGRADE_REQUIRED) return { status, detail: message };
  }
  return {
    status: 0,
    detail:
      "The gateway takes this call, but no WebSocket could be opened. Something on the way may not let it through.",
  };
}

const UPGRADE_REQUIRED = 426;
