/** A call over a WebSocket, for endpoints that take a stream of messages (docs/streams.md). */
import { ApiError, get } from "../http.js";
import type { Call, Failure } from "./http-call.js";

export interface WebSocketCall {
  /** Sends a message, once the socket is open. */
  send(text: string): void;
  /** Says that no more messages come. */
  end(): void;
  cancel(): void;
}

export interface WebSocketListener {
  onOpen(): void;
  onMessage(text: string): void;
  onClose(code: number, reason: string): void;
}

export function openWebSocket({ path, token }: Omit<Call, "body">, listener: WebSocketListener): WebSocketCall {
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

/** Close code of a call that succeeded. */
const OK = 1000;
/** A call that failed closes with this and the HTTP status. */
const STATUS_BASE = 4000;

/** Why the gateway closed the socket; undefined when the call succeeded. */
export function readClose(code: number, reason: string): Failure | undefined {
  if (code === OK) return undefined;
  return { status: Math.max(0, code - STATUS_BASE), detail: reason || "The connection broke off." };
}

const UPGRADE_REQUIRED = 426;

/**
 * Finds out why a socket did not open, which a browser tells no page. A plain request is refused for the same reasons,
 * and with 426 where there is none.
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
