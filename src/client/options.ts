/** The options of a client and of a call, and how an endpoint is called. */
import type { Int64Table } from "./values.js";

/**
 * How a client reaches Portico. In Node, a value that is not given is read from the environment.
 */
export interface PorticoOptions {
  /**
   * Base address. Default: PORTICO_URL, in a page the page's own origin, otherwise
   * `http://127.0.0.1:8080`.
   */
  readonly url?: string | undefined;
  /**
   * An access token or API key, or a function that gives one. Default: PORTICO_TOKEN. With an empty
   * token, calls have no token.
   */
  readonly token?: string | TokenFunction | undefined;
  /** The namespace to call in. Default: PORTICO_NAMESPACE, otherwise the token's own. */
  readonly namespace?: string | undefined;
  /**
   * Maximum milliseconds of a call including its retries. Default 30,000. A stream has a deadline
   * only if its call gives one.
   */
  readonly timeout?: number | undefined;
  /** Maximum number of retries of a call. A call is retried only when that is safe. Default 2. */
  readonly retries?: number | undefined;
}

/**
 * Gives the token of the calls. It is called before the first call. When a token is refused with
 * 401, it is called once more with that token, and the call is repeated once.
 */
export type TokenFunction = (hint: {
  readonly refused: string | undefined;
}) => string | undefined | Promise<string | undefined>;

/** Options of one call. */
export interface CallOptions {
  /** Ends the call: it then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum milliseconds of the call including its retries. */
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
}

/** The messages that a call sends. They may become available over time. */
export type Messages<T> = AsyncIterable<T> | Iterable<T>;

/** How an endpoint is called. */
export interface EndpointEntry {
  /** The path without a version: `/helloworld/Call`. */
  readonly path: string;
  /** Which sides stream. */
  readonly shape: "unary" | "server" | "client" | "bidi";
  /**
   * Whether the contract declares the endpoint free of side effects or idempotent. Only then a call
   * that may have reached the service is repeated.
   */
  readonly idempotent?: true;
  /** Whether requests are raw bytes instead of JSON. `answersBytes`: whether responses are. */
  readonly takesBytes?: true;
  readonly answersBytes?: true;
  /** The type of the responses in a table, if they have 64-bit integers. */
  readonly int64?: readonly [type: string, table: Int64Table];
}
export interface EndpointTable {
  readonly [name: string]: EndpointEntry | EndpointTable;
}
