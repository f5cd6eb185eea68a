/**
 * What the dispatcher gives to its calls (running-call.ts): the endpoint, and what all calls share.
 */
import type { Logger } from "pino";
import type { Admission, Guard, SYSTEM } from "../call/admission.js";
import type { CountedCall } from "../call/limited-call.js";
import type { Metadata } from "../call/metadata.js";
import type { Endpoint } from "../contract/endpoint.js";
import type { Code, StatusError } from "../errors.js";
import type { CallQueue } from "../overload/call-queue.js";
import type { CallLimits, OwnLimits } from "./call-limits.js";
import type { CallStart } from "./channel.js";
import type { Deadlines } from "./open-calls.js";
import type { BuiltInContext } from "./service.js";

/** An open call that can be ended early. */
export interface Stoppable {
  stop(reason: StatusError): void;
}

/** An endpoint as the dispatcher has prepared it for its calls. */
export interface ServedMethod extends OwnLimits {
  /** Canonical name, `helloworld:Helloworld.Call`. */
  readonly name: string;
  /** gRPC path, `/helloworld.Helloworld/Call`. */
  readonly path: string;
  /** Undefined for health and reflection, which are not guarded. */
  readonly endpoint: Endpoint | undefined;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  /** @throws {StatusError} INVALID_ARGUMENT for bytes that are not the endpoint's message */
  readonly decode: (bytes: Uint8Array) => unknown;
  readonly encode: (response: unknown) => Uint8Array;
  readonly run: (request: unknown, context: BuiltInContext) => unknown;
  /** Loads the endpoint's code before its first call; undefined when the code is loaded. */
  readonly load: (() => Promise<void>) | undefined;
  /** Open calls, if the calls never end by themselves. They are ended when the process stops. */
  readonly running?: Set<Stoppable> | undefined;
}

export interface AdmittedCaller extends CountedCall {
  readonly admission: Admission | typeof SYSTEM | undefined;
}

/** What all calls of a dispatcher share. */
export interface CallEnvironment {
  readonly guard: Guard;
  /**
   * Asks the guard to admit a call. Returns a promise only if the caller must be looked up.
   * @param opened whether the call was admitted before, when it opened
   * @throws {StatusError} (or rejects) for a call that is refused
   */
  readonly admit: (
    method: ServedMethod,
    start: CallStart,
    peer: string,
    opened: boolean,
  ) => AdmittedCaller | Promise<AdmittedCaller>;
  readonly log: Logger;
  /** The queue for calls with one request, which may refuse them. Without it all begin at once. */
  readonly callQueue: CallQueue | undefined;
  readonly limits: CallLimits;
  readonly deadlines: Deadlines;
  /** Called when a call to a service has ended, if it came from another process. */
  readonly onEnd: ((call: CallEnd, endpoint: Endpoint) => void) | undefined;
}

/** A call that has ended, for metrics and usage. */
export interface CallEnd {
  readonly code: Code;
  readonly milliseconds: number;
  readonly metadata: Metadata;
  /** Undefined for a call without a token, and for a call that was refused. */
  readonly caller: Admission["caller"];
  readonly namespace: string | undefined;
  /** Undefined for a call that was refused. */
  readonly clientAddress: string | undefined;
  /** The ID of the limit of calls that refused the call; undefined for any other end. */
  readonly limit: string | undefined;
}
