/**
 * A call as the serving side sees it: the mirror of channel.ts. A transport (a socket, or the in-process channel) opens
 * the call at the dispatcher, tells it through the IncomingListener what the caller does, and carries out what the
 * dispatcher answers through the Reply. Messages are bytes. Nothing here throws.
 */
import type { Status } from "./channel.js";
import type { Metadata } from "./metadata.js";

/** What the transport tells the dispatcher. */
export interface IncomingListener {
  onMessage(message: Uint8Array): void;
  /** The caller sends no more messages. */
  onEnd(): void;
  /** More may be sent, after a `send` that returned false. */
  onDrain(): void;
  /** The caller has cancelled or is gone. Harmless after the end. */
  onCancel(): void;
}

/** How the dispatcher answers. All of it is harmless after `end`. */
export interface Reply {
  /** Sends the headers ahead of the first message; no effect once they have gone. */
  sendHeaders(metadata: Metadata): void;
  /** Sends a message. False means: wait for `onDrain` before the next one. */
  send(message: Uint8Array): boolean;
  /** Ends the call, after the messages sent before. A status that is not OK may overtake what the caller has not read. */
  end(status: Status): void;
  /** Stops and restarts `onMessage`, and so, through flow control, the caller. */
  pause(): void;
  resume(): void;
}
