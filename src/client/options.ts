/** What a client and a call can be told, and how an endpoint is called. */

/** How a client reaches Portico. In Node, what is not given is read from the environment. */
export interface PorticoOptions {
  /** Base address. Default: PORTICO_URL, in a page the page's own origin, else `http://127.0.0.1:8080`. */
  readonly url?: string | undefined;
  /** An access token or API key. Default: PORTICO_TOKEN. An empty one means to call without a token. */
  readonly token?: string | undefined;
  /** The namespace to call in. Default: PORTICO_NAMESPACE, else the token's own. */
  readonly namespace?: string | undefined;
  /** Milliseconds that a call may take with its retries; 30,000 by default. A stream has a deadline only where its call gives one. */
  readonly timeout?: number | undefined;
  /** How often a call is tried again where that is safe; 2 by default. */
  readonly retries?: number | undefined;
}

/** What one call may have of its own. */
export interface CallOptions {
  /** Ends the call: it then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that the call may take with its retries. */
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
}

/** The messages that a call sends, as they come. */
export type Messages<T> = AsyncIterable<T> | Iterable<T>;

/** How an endpoint is called. */
export interface EndpointEntry {
  /** Its path without a version: `/helloworld/Call`. */
  readonly path: string;
  /** Which sides stream. */
  readonly shape: "unary" | "server" | "client" | "bidi";
  /** Whether the contract declares it free of side effects or idempotent. Only then a call that may have arrived is repeated. */
  readonly idempotent?: true;
  /** Whether it takes or answers raw bytes instead of JSON. */
  readonly takesBytes?: true;
  readonly answersBytes?: true;
}
export interface EndpointTable {
  readonly [name: string]: EndpointEntry | EndpointTable;
}
