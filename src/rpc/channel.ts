/**
 * A channel carries calls to a service. There are three kinds, in-process, over our own HTTP/2 and over grpc-js; a balancer
 * over several channels is a channel too. All pass test/contract/channel.ts.
 *
 * Messages are bytes here: the caller knows their type. One interface serves all four shapes of a call; a unary call is one
 * message each way. Nothing here throws or rejects: every call ends with exactly one `onEnd`.
 *
 * A call has two ends: its caller has a Call and a CallListener, the dispatcher at the service has a Reply and an
 * IncomingListener. A transport, or the in-process channel, is between them.
 *
 * This room knows no rule.
 */

import type { Admission, SignedAssertion, SYSTEM } from "../call/admission.js";
import type { Metadata } from "../call/metadata.js";
import type { Code } from "../errors.js";
import type { Any } from "../gen/google/protobuf/any.js";

export interface CallStart {
  /** gRPC path, `/helloworld.Helloworld/Call`. */
  readonly path: string;
  readonly metadata: Metadata;
  /** When the call must have ended, in milliseconds of `performance.now()`. Every call has one, except the mesh's own watches. */
  readonly deadlineMonotonicMs?: number | undefined;
  /** Proof that this process's guard has admitted the call. Passed by reference in process, never sent over a transport. */
  readonly admission?: Admission | typeof SYSTEM | undefined;
  /** What says who calls to a service that takes signed contexts; a transport sends it after the metadata (`sentMetadata`). */
  readonly context?: SignedAssertion | undefined;
  /** The address of the outermost client, for the authority; believed only in process or from an enrolled gateway. */
  readonly clientAddress?: string | undefined;
  /** The endpoint is declared free of side effects, so a balancer may send the call again after a lost connection. */
  readonly repeatable?: boolean | undefined;
  /** A balancer refuses it where its instances have more calls than they can answer: a unary call that a gateway forwards. */
  readonly refusable?: boolean | undefined;
}

/** The metadata of a call with its signed context, which is signed here unless it has been. */
export function sentMetadata({ metadata, context }: CallStart): Metadata {
  return context === undefined ? metadata : metadata.concat(context.metadata);
}

/** The end of a call. */
export interface Status {
  readonly code: Code;
  readonly message: string;
  /** Details of `google.rpc.Status`. */
  readonly details: readonly Any[];
  readonly trailers: Metadata;
  /** True where the service certainly never saw the call, so that another address may be tried. */
  readonly neverSent?: boolean;
  /**
   * True where the peer broke the protocol of gRPC or HTTP/2, or does not speak gRPC: then `code` is this end's word for it,
   * not the service's.
   */
  readonly protocolError?: boolean;
  /** True where the answer exceeds a limit of this end, which the message names. The service may be as it should be. */
  readonly tooLarge?: boolean;
  /** The reason, for the operator; it may name internals that callers must not see. */
  readonly cause?: Error | undefined;
}

/** The events of a call, for its caller. None is called from within `open`, `send` or `end` of the same call. */
export interface CallListener {
  onHeaders?(metadata: Metadata): void;
  onMessage(message: Uint8Array): void;
  /** More may be sent, after a `send` that returned false. */
  onDrain?(): void;
  /** The last event of a call; exactly once. */
  onEnd(status: Status): void;
}

/** A call as its caller uses it. After the end no method has an effect. */
export interface OutgoingCall {
  /** Sends a message. @returns false where the caller should wait for `onDrain` before the next one */
  send(message: Uint8Array): boolean;
  /** No more messages will be sent. */
  end(): void;
  /** Ends the call at once with CANCELLED, at both ends. */
  cancel(): void;
  /** Stops and restarts `onMessage`, and through flow control the service's sending. */
  pause(): void;
  resume(): void;
}

/**
 * Verifies a connection before it takes calls.
 * @param connection a channel over this connection alone
 * @returns false where calls that wait since the connection before it must not be sent on this one: they fail, as never
 * sent
 * @throws (rejects) where the connection cannot be used
 */
export type Verify = (connection: Channel) => Promise<boolean>;

export interface Channel {
  open(start: CallStart, listener: CallListener): OutgoingCall;
  /** Whether calls can be sent now. `idle` has no connection, and makes one for the next call. */
  readonly state: "idle" | "connecting" | "ready" | "broken" | "closed";
  /**
   * Ends the pause after a connection that failed, for a call that no other channel can carry. The call waits for the next
   * attempt, which comes at least RECONNECT_MS after the last one. Absent where the transport has no such thing.
   */
  connectSoon?(): void;
  /** Ends every call with UNAVAILABLE and frees what the channel holds. */
  close(): void;
}

/** The events of a call at the service, which the transport reports to the dispatcher. */
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
export interface CallResponder {
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
