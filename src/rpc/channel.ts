/**
 * A channel carries calls to a service. There are three kinds: in process, over Portico's HTTP/2,
 * and over grpc-js. A balancer over several channels is a channel too. All pass
 * test/contract/channel.ts.
 *
 * Messages are bytes here: the caller knows their type. One interface serves unary calls and the
 * three kinds of streams; a unary call sends one message in each direction. Nothing here throws or
 * rejects: every call ends with exactly one `onEnd`.
 *
 * A call has two ends. Its caller has an OutgoingCall and a CallListener. The dispatcher at the
 * service has a CallResponder and an IncomingListener. A transport, or the in-process channel,
 * connects them.
 *
 * This room knows no rule.
 */

import type { GrpcTarget } from "../address/address.js";
import type { Admission, SignedAssertion, SYSTEM } from "../call/admission.js";
import type { Metadata } from "../call/metadata.js";
import type { Code } from "../errors.js";
import type { Any } from "../gen/google/protobuf/any.js";
import type { CallTrace } from "../telemetry/call-trace.js";

export interface CallStart {
  /** gRPC path, `/helloworld.Helloworld/Call`. */
  readonly path: string;
  readonly metadata: Metadata;
  /**
   * When the call must have ended, in milliseconds of `performance.now()`. Every call has a
   * deadline, except the watches by which Portico's processes follow each other.
   */
  readonly deadlineMonotonicMs?: number | undefined;
  /**
   * Proof that this process's guard has admitted the call. Passed by reference in process, never
   * sent over a transport.
   */
  readonly admission?: Admission | typeof SYSTEM | undefined;
  /**
   * The caller assertion, for a service that accepts assertions. A transport sends it after the
   * metadata (`sentMetadata`).
   */
  readonly callerAssertion?: SignedAssertion | undefined;
  /**
   * The address of the outermost client, for the authority. It is trusted only in process or from
   * an enrolled gateway.
   */
  readonly clientAddress?: string | undefined;
  /**
   * The endpoint is declared free of side effects, so a balancer may send the call again after a
   * lost connection.
   */
  readonly repeatable?: boolean | undefined;
  /**
   * A balancer may refuse the call when its instances have too many calls. Set for unary calls that
   * a gateway forwards.
   */
  readonly refusable?: boolean | undefined;
  /** The spans of the call, if it is traced. A balancer begins and ends them. */
  readonly trace?: CallTrace | undefined;
}

/**
 * The call's metadata with its caller assertion. This signs the assertion, unless it is signed
 * already.
 */
export function sentMetadata({ metadata, callerAssertion }: CallStart): Metadata {
  return callerAssertion === undefined ? metadata : metadata.concat(callerAssertion.metadata);
}

/** How a call ended. */
export interface Status {
  readonly code: Code;
  readonly message: string;
  /** Details of `google.rpc.Status`. */
  readonly details: readonly Any[];
  readonly trailers: Metadata;
  /** True when the service certainly never saw the call, so another address may be tried. */
  readonly neverSent?: boolean;
  /**
   * True when the peer broke the protocol of gRPC or HTTP/2, or does not speak gRPC. Then this end
   * chose `code`, not the service.
   */
  readonly protocolError?: boolean;
  /**
   * True when the response exceeds a limit of this end; the message names the limit. The service
   * may be healthy.
   */
  readonly tooLarge?: boolean;
  /** The reason, for the operator; it may name internals that callers must not see. */
  readonly cause?: Error | undefined;
}

/**
 * The events of a call, for its caller. No event is called from within `open`, `send` or `end` of
 * the same call.
 */
export interface CallListener {
  onHeaders?(metadata: Metadata): void;
  onMessage(message: Uint8Array): void;
  /** The caller may send again, after a `send` that returned false. */
  onDrain?(): void;
  /** The last event of a call; exactly once. */
  onEnd(status: Status): void;
}

/** A call as its caller uses it. After the end no method has an effect. */
export interface OutgoingCall {
  /**
   * Sends a message.
   * @returns false when the caller should wait for `onDrain` before the next message
   */
  send(message: Uint8Array): boolean;
  /** No more messages will be sent. */
  end(): void;
  /** Ends the call at once with CANCELLED, at both ends. */
  cancel(): void;
  /** Stops and restarts `onMessage`. Flow control then stops the sender at the service too. */
  pause(): void;
  resume(): void;
}

/**
 * Verifies a connection before it takes calls.
 * @param connection a channel over only this connection
 * @returns false when calls that have waited since the previous connection must not be sent on this
 * one; they fail, and count as never sent
 * @throws (rejects) when the connection cannot be used
 */
export type Verify = (connection: Channel) => Promise<boolean>;

export interface Channel {
  open(start: CallStart, listener: CallListener): OutgoingCall;
  /** Where it sends calls; undefined for a channel in process, and for a balancer. */
  readonly target?: GrpcTarget | undefined;
  /** Whether calls can be sent now. `idle` means no connection; the next call opens one. */
  readonly state: "idle" | "connecting" | "ready" | "broken" | "closed";
  /**
   * Ends the pause after a failed connection attempt, for a call that no other channel can carry.
   * The call waits for the next attempt, at least RECONNECT_MS after the last one. Undefined when
   * the transport cannot do this.
   */
  connectSoon?(): void;
  /** Ends every call with UNAVAILABLE and frees the channel's resources. */
  close(): void;
}

/** The events of a call at the service. The transport reports them to the dispatcher. */
export interface IncomingListener {
  onMessage(message: Uint8Array): void;
  /** The caller sends no more messages. */
  onEnd(): void;
  /** The dispatcher may send again, after a `send` that returned false. */
  onDrain(): void;
  /** The caller has cancelled or its connection is lost. No effect after the end. */
  onCancel(): void;
}

/** How the dispatcher responds. After `end` no method has an effect. */
export interface CallResponder {
  /** Sends the headers before the first message. No effect once the headers are sent. */
  sendHeaders(metadata: Metadata): void;
  /**
   * Sends a message.
   * @returns false when the dispatcher should wait for `onDrain` before the next message
   */
  send(message: Uint8Array): boolean;
  /**
   * Ends the call after the messages that were sent before. A status other than OK may overtake
   * messages that the caller has not read.
   */
  end(status: Status): void;
  /** Stops and restarts `onMessage`. Flow control then stops the caller's sending too. */
  pause(): void;
  resume(): void;
}
