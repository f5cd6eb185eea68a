/** A connection as the HTTP port sees it, whatever version of HTTP is spoken on it. */
import type { Socket } from "node:net";
import type { Config } from "../../src/config/config.js";
import type { MemoryBudget } from "../../src/memory/memory-budget.js";
import type { HttpError } from "../http/errors.js";
import type { RequestHandler } from "../http/message.js";

/** What the port needs of any connection that it has accepted, whatever version of HTTP is spoken on it. */
export interface PortConnection {
  /** From now on each response is the last one of its connection. Requests are still accepted. */
  leave(): void;
  /** Closes the connection where no request has begun on it, and no response is still being sent. */
  closeIdle(): void;
  /** Ends the requests in flight with this error, which the client gets where the response has not begun. */
  abortAll(reason: HttpError): void;
  /**
   * Called again and again, for limits of time: one timer serves all connections.
   * @param nowMs of `performance.now`, before sockets were last read
   */
  checkTime(nowMs: number): void;
  destroy(): void;
}

/** The bytes to and from a client: a TCP socket, or TLS on one. The port listens for its "close" and "error" itself. */
export type ClientSocket = Socket;

/** The protocol on which TLS agreed (ALPN, RFC 7301); undefined where it agreed on none, and without TLS. */
export function agreedProtocol(
  socket: ClientSocket & { readonly alpnProtocol?: string | false | null },
): string | undefined {
  return socket.alpnProtocol || undefined;
}

/** What a connection is served with. */
export interface HttpConnectionOptions {
  readonly handler: RequestHandler;
  readonly limits: ConnectionLimits;
  /** The memory budget of this process. */
  readonly budget: MemoryBudget;
}

export type ConnectionLimits = Pick<
  Config,
  "maxBody" | "maxHeaders" | "maxHeaderCount" | "headerTime" | "bodyTime" | "keepAlive" | "maxCallTime"
> & {
  /** How long the client may read nothing, or the service take nothing of an upload, in milliseconds; default 30 min. */
  readonly stallMs?: number | undefined;
  /** How long a client is throttled at most after a request was refused in an overload, in milliseconds; default see `throttleDelay`. */
  readonly maxThrottleMs?: number | undefined;
};

/**
 * How long a connection stays open, in milliseconds, after a response to a request that is still being sent. Closing at once
 * would reset the connection, and the client might never see the response (RFC 9112 §9.6).
 */
export const LINGER_MS = 1000;

/** Fewer bytes are not reserved where nothing else of the connection is waiting. */
export const MIN_RESERVED = 4_096;

/**
 * A longer text is converted to a Buffer before it is written: until the client has read it Node holds the text, and beside
 * it a block of three bytes for each of its characters.
 */
export const MAX_TEXT = 16 * 1024;
