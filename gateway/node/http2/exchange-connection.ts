/** What an exchange over HTTP/2 uses of its connection. */
import type { ClientMemory } from "../../../src/memory/memory-budget.js";
import type { Peer } from "../peer.js";
import type { ResponseConnection } from "./response-stream.js";

export interface ExchangeLimits {
  readonly maxBody: number;
  /** Time for a body that is read to its end, and for the next piece of one that is read in pieces, in milliseconds. */
  readonly bodyTime: number;
  /** How long the service may take nothing of an upload, in milliseconds. */
  readonly stallMs: number;
}

export interface ExchangeConnection extends ResponseConnection {
  readonly remotePeer: Peer;
  /** The memory of the client that a proxy names; undefined where it names none. */
  openClient(request: { readonly rawHeaders: readonly string[] }): ClientMemory | undefined;
  readonly exchangeLimits: ExchangeLimits;
  /** Delays refusals until `onThrottleEnd` of each stream. @returns false where they are written at once */
  tryThrottle(): boolean;
}
