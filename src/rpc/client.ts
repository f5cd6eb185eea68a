/**
 * Calls endpoints with typed messages, over any channel. `method` is an entry of a ts-proto
 * definition:
 *
 *     const { rules } = await unary(channel, RulesService.list, {});
 */

import { type Metadata, NO_METADATA } from "../call/metadata.js";
import { Code, StatusError } from "../errors.js";
import type { CallStart, Channel, OutgoingCall, Status } from "./channel.js";
import type { MethodDefinition } from "./definition.js";
import { MessageQueue } from "./message-queue.js";
import { cancelled, toError } from "./status.js";

/** The maximum time of a unary call without a deadline, in milliseconds. */
const DEFAULT_TIME = 30_000;

export interface CallOptions {
  readonly metadata?: Metadata | undefined;
  /**
   * When the call must have ended, in milliseconds of `performance.now()`. Default: 30 s for a
   * unary call, no deadline for a stream.
   */
  readonly deadlineMonotonicMs?: number | undefined;
  readonly admission?: CallStart["admission"];
  readonly clientAddress?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether the call may be sent again after a lost connection, because it has no side effects. */
  readonly repeatable?: boolean | undefined;
}

/**
 * The maximum time of the first attempt of `repeated`, in milliseconds. Each further attempt has
 * twice the time.
 */
const FIRST_ATTEMPT_TIME = 1_000;

/**
 * Calls a unary endpoint without side effects. When an attempt gets no response in time, it calls
 * again until the deadline. Over a channel to several instances the next attempt goes to another
 * instance.
 * @throws {StatusError}
 */
export async function repeated<Request, Response>(
  channel: Channel,
  method: MethodDefinition<Request, Response> & { readonly requestStream: false; readonly responseStream: false },
  request: NoInfer<Request>,
  { deadlineMonotonicMs: deadline = performance.now() + DEFAULT_TIME, ...options }: CallOptions = {},
): Promise<Response> {
  for (let time = FIRST_ATTEMPT_TIME; ; time *= 2) {
    const end = Math.min(deadline, performance.now() + time);
    try {
      return await unary(channel, method, request, { ...options, deadlineMonotonicMs: end, repeatable: true });
    } catch (error) {
      const isLate = error instanceof StatusError && error.code === Code.DEADLINE_EXCEEDED;
      if (!isLate || performance.now() >= deadline || options.signal?.aborted) throw error;
    }
  }
}

/**
 * Calls a unary endpoint.
 * @throws {StatusError}
 */
export function unary<Request, Response>(
  channel: Channel,
  method: MethodDefinition<Request, Response> & { readonly requestStream: false; readonly responseStream: false },
  request: NoInfer<Request>,
  options: CallOptions = {},
): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (options.signal?.aborted) throw toError(cancelled());
    const message = method.requestSerialize(request);
    const responses: Uint8Array[] = [];
    const onEnd = (status: Status): void => {
      options.signal?.removeEventListener("abort", cancel);
      try {
        if (status.code !== Code.OK) throw toError(status);
        resolve(decodeResponse(method, onlyOne(method.path, responses)));
      } catch (error) {
        reject(error);
      }
    };
    const onMessage = (response: Uint8Array): void => {
      if (responses.length < 2) responses.push(response);
    };
    const call = channel.open(startOf(method.path, options, performance.now() + DEFAULT_TIME), { onMessage, onEnd });
    const cancel = (): void => call.cancel();
    options.signal?.addEventListener("abort", cancel);
    call.send(message);
    call.end();
  });
}

/** An open call of any streaming shape. After the end no method has an effect. */
export interface CallStream<Request, Response> {
  /**
   * Sends a message.
   * @returns false when the caller should await `drained()` before the next message
   */
  send(request: Request): boolean;
  /** Resolves when more messages may be sent, or the call has ended. */
  drained(): Promise<void>;
  /** No more messages will be sent. */
  end(): void;
  /** Ends the call at once, with CANCELLED. */
  cancel(): void;
  /**
   * Can be iterated once. After the last message of a failed call it throws a StatusError. Leaving
   * the iteration early cancels the call.
   */
  readonly responses: AsyncIterable<Response>;
}

/** Opens a call of any streaming shape. */
export function stream<Request, Response>(
  channel: Channel,
  method: MethodDefinition<Request, Response>,
  options: CallOptions = {},
): CallStream<Request, Response> {
  const responses = new MessageQueue((bytes) => decodeResponse(method, bytes), {
    pause: () => call.pause(),
    resume: () => call.resume(),
    abandon: () => call.cancel(),
  });
  let full = false;
  let waiting: (() => void)[] = [];
  const drain = (): void => {
    full = false;
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  };
  const call: OutgoingCall = channel.open(startOf(method.path, options, undefined), {
    onMessage: (message) => responses.push(message),
    onDrain: drain,
    onEnd(status) {
      options.signal?.removeEventListener("abort", cancel);
      responses.end(status.code === Code.OK ? undefined : toError(status));
      drain();
    },
  });
  const cancel = (): void => call.cancel();
  if (options.signal?.aborted) cancel();
  else options.signal?.addEventListener("abort", cancel);
  return {
    send(request) {
      if (!call.send(method.requestSerialize(request))) full = true;
      return !full;
    },
    drained: () => (full ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()),
    end: () => call.end(),
    cancel,
    responses,
  };
}

function startOf(path: string, options: CallOptions, deadlineMonotonicMs: number | undefined): CallStart {
  return {
    path,
    metadata: options.metadata ?? NO_METADATA,
    deadlineMonotonicMs: options.deadlineMonotonicMs ?? deadlineMonotonicMs,
    admission: options.admission,
    clientAddress: options.clientAddress,
    repeatable: options.repeatable,
  };
}

/**
 * Returns the only message of a unary response.
 * @throws {StatusError} UNIMPLEMENTED when there is not exactly one: gRPC's code for a cardinality
 * violation (https://github.com/grpc/grpc/blob/master/doc/statuscodes.md)
 */
function onlyOne(path: string, responses: readonly Uint8Array[]): Uint8Array {
  const [response] = responses;
  if (response !== undefined && responses.length === 1) return response;
  throw new StatusError(Code.UNIMPLEMENTED, `${path} responded with ${responses.length} messages instead of one`);
}

function decodeResponse<Response>(
  method: Pick<MethodDefinition<unknown, Response>, "path" | "responseDeserialize">,
  bytes: Uint8Array,
): Response {
  try {
    return method.responseDeserialize(bytes as Buffer);
  } catch (cause) {
    throw new StatusError(Code.INTERNAL, `${method.path} responded with bytes that are not its message`, { cause });
  }
}
