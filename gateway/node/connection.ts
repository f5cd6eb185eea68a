/** A connection as the HTTP port sees it, and what the port keeps for each: the exchange that it serves, and its memory. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Config } from "../../src/config.js";
import type { ConnectionMemory, MemoryBudget } from "../../src/memory-budget.js";
import { HttpError } from "../errors.js";
import type { Handler } from "../http.js";

/** What the port needs of any connection that it has accepted, whatever version of HTTP is spoken on it. */
export interface PortConnection {
  /** From now on each response is the last one of its connection. Requests are still accepted. */
  leave(): void;
  /** Closes the connection where no request has begun on it, and no response is still being sent. */
  closeIdle(): void;
  /** Ends the requests in flight with this error, which the client gets where the response has not begun. */
  abortAll(reason: HttpError): void;
  /** Called every `CHECK_MS` at most, for limits of time: one timer serves all connections. */
  checkTime(): void;
  destroy(): void;
}

/** The bytes to and from a client: a TCP socket, or TLS on one. The port listens for its "close" and "error" itself. */
export type ClientSocket = Duplex & { readonly remoteAddress?: string | undefined };

/** What a connection is served with. */
export interface ConnectionOptions {
  readonly handler: Handler;
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
};

/** How often limits of time are checked, in milliseconds, where none of them is shorter. */
export const CHECK_MS = 1000;

/** A request that a connection is serving, and its response. */
export interface ActiveExchange {
  /** Whether the response has been given to the connection. */
  readonly answered: boolean;
  /** Whether the response is an error that closes the connection. */
  readonly failed: boolean;
  /** Whether the body is read in pieces, so that there is no limit to the time of the whole. */
  readonly readsPieces?: boolean;
  /** Makes the response the last one of the connection, and the fault the response where the body has not arrived yet. */
  fail(fault: HttpError): void;
  /** Ends the exchange as soon as possible. */
  abort(reason: HttpError): void;
}

/**
 * Key of a connection's last request, until its response has been sent; for good where it failed. Node ends responses in the
 * order of their requests, so that a connection without an active exchange is idle.
 */
export const ACTIVE = Symbol("active exchange");
const MEMORY = Symbol("memory");

export type Connection = Socket & { [ACTIVE]?: ActiveExchange | undefined; [MEMORY]?: ConnectionMemory };

export const GONE = new HttpError(499, "The client has gone");

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

/** The memory budget of a connection. Made when it first reserves anything, since most never do; closed with the connection. */
export function memoryOf(socket: Connection, budget: MemoryBudget): ConnectionMemory {
  const known = socket[MEMORY];
  if (known !== undefined) return known;
  const memory = budget.open(socket.remoteAddress ?? "unix");
  socket[MEMORY] = memory;
  // The event "close" of a destroyed socket may be over.
  if (socket.destroyed) memory.close();
  else socket.once("close", () => memory.close());
  return memory;
}
