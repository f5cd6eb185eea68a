/**
 * A call at the service's end, the mirror of channel.ts: a transport, or the in-process channel, opens the call at the
 * dispatcher, reports the caller's messages to the IncomingListener, and sends what the dispatcher passes to the Reply.
 * Messages are bytes. Nothing here throws.
 */
import type { Status } from "./channel.js";
import type { Metadata } from "./metadata.js";

/** The events of a call, which the transport reports to the dispatcher. */
export interface IncomingListener {
  onMessage(message: Uint8Array): void;
  /** The caller sends no more messages. */
  onEnd(): void;
  /** More may be sent, after a `send` that returned false. */
  onDrain(): void;
  /** The caller has cancelled or is gone. No effect after the end. */
  onCancel(): void;
}

/** How the dispatcher answers. After `end` no method has an effect. */
export interface Reply {
  /** Sends the headers ahead of the first message; no effect once they have gone. */
  sendHeaders(metadata: Metadata): void;
  /** Sends a message. @returns false where the dispatcher should wait for `onDrain` before the next one */
  send(message: Uint8Array): boolean;
  /** Ends the call, after the messages sent before. A status that is not OK may overtake what the caller has not read. */
  end(status: Status): void;
  /** Stops and restarts `onMessage`, and through flow control the caller's sending. */
  pause(): void;
  resume(): void;
}
