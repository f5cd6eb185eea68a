/** A call as the person at the page makes it: every answer is handed over as it came, errors too. */
import { ApiError } from "../http.js";
import { Lines } from "./lines.js";

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

/** Bytes of which nothing sensible can be shown as text. */
const TEXT = /^(?:text\/|application\/(?:json|x-ndjson|xml))/;

/**
 * Makes a call, until its answer has ended.
 * @throws {ApiError} when there is no answer, or it breaks off. @throws {DOMException} AbortError
 */
export async function makeCall(call: Call, listener: Listener, signal: AbortSignal): Promise<void> {
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
    if (contentType.startsWith("application/x-ndjson") && response.body) await readLines(response.body, listener);
    else if (TEXT.test(contentType)) listener.onMessage(await response.text());
    else listener.onMessage(`${(await response.arrayBuffer()).byteLength} bytes of ${contentType || "no known type"}`);
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    throw ApiError.from(thrown);
  }
}

async function readLines(body: ReadableStream<Uint8Array<ArrayBuffer>>, listener: Listener): Promise<void> {
  const lines = new Lines();
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    for (const line of lines.take(read.value)) listener.onMessage(line);
  }
  for (const line of lines.end()) listener.onMessage(line);
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
