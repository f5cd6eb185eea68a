/**
 * One request and its answer, as the gateway's core sees them: no type of node:http in sight, so that the handler can
 * be tested by calling a function, and be put behind another kind of server.
 */
import type { HttpError } from "./errors.js";

export interface GatewayRequest {
  readonly method: string;
  /** The request target as sent, one character an octet: `/helloworld/call?name=Ada`. */
  readonly target: string;
  /** Name, value, name, value … as sent: nothing joined, nothing dropped. */
  readonly headers: readonly string[];
  /** What the server found wrong with the request as HTTP, before or instead of a whole request. */
  readonly fault?: HttpError | undefined;
  /** The client's IP address. */
  readonly remoteAddress: string;
  /**
   * Reads the whole body; to be called once at most.
   * @throws {HttpError} 413 too large, 408 too slow, 400 malformed, 499 the client has gone.
   */
  body(): Uint8Array | Promise<Uint8Array>;
  /** Calls back, at once or later, when the client has gone without waiting for its answer. */
  onGone(listener: () => void): void;
}

export interface GatewayResponse {
  readonly status: number;
  /** Name, value, name, value … complete, but for what belongs to the connection. */
  readonly headers: readonly string[];
  readonly body: string;
  /** Bytes of the body. */
  readonly length: number;
}

export type Handler = (request: GatewayRequest) => GatewayResponse | Promise<GatewayResponse>;
