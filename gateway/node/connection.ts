/** The types that connections of HTTP/1.1 and HTTP/2 share. */
import type { Socket } from "node:net";
import type { Config } from "../../src/config/config.js";
import type { MemoryBudget } from "../../src/memory/memory-budget.js";
import type { HttpError } from "../http/errors.js";
import type { RequestHandler } from "../http/message.js";

/** A connection that the port has accepted, in either version of HTTP. */
export interface PortConnection {
  /**
   * From now on the next response is the last one of this connection. Requests are still accepted.
   */
  leave(): void;
  /** Closes the connection if no request has begun on it and no response is still being sent. */
  closeIdle(): void;
  /**
   * Ends the requests in flight with this error. The client gets the error where the response has
   * not begun.
   */
  abortAll(reason: HttpError): void;
  /**
   * Checks the time limits. Called again and again, because one timer serves all connections.
   * @param nowMs of `performance.now`, before sockets were last read
   */
  checkTime(nowMs: number): void;
  destroy(): void;
}

/**
 * The bytes to and from a client: a TCP socket, or TLS on one. The port itself listens for its
 * "close" and "error".
 */
export type ClientSocket = Socket;

/**
 * The protocol that TLS has negotiated (ALPN, RFC 7301); undefined where it negotiated none, and
 * without TLS.
 */
export function agreedProtocol(
  socket: ClientSocket & { readonly alpnProtocol?: string | false | null },
): string | undefined {
  return socket.alpnProtocol || undefined;
}

/** The options with which a connection is served. */
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
  /**
   * How long the client may read nothing, or the service may read nothing of an upload, in
   * milliseconds; default 30 min.
   */
  readonly stallMs?: number | undefined;
  /**
   * The maximum time for which a client is throttled after a request was rejected in an overload,
   * in milliseconds; for the default see `throttleDelay`.
   */
  readonly maxThrottleMs?: number | undefined;
};

/**
 * How long a connection stays open, in milliseconds, after the response to a request that is still
 * being sent. Closing at once would reset the connection, and the client might never see the
 * response (RFC 9112 §9.6).
 */
export const LINGER_MS = 1000;

/**
 * Minimum bytes of data for which memory is reserved, unless more data of the connection is
 * waiting.
 */
export const MIN_RESERVED = 4_096;

/**
 * Maximum characters of a text that is written as a string. A longer text is converted to a Buffer
 * first. Otherwise, until the client has read it, Node would store the text and also a block of
 * three bytes for each character.
 */
export const MAX_TEXT = 16 * 1024;
