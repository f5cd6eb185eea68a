/**
 * The one error class for a failed call. Its codes are from `google.rpc.Code`
 * (https://grpc.io/docs/guides/status-codes/), or a service's own codes above them. The same table
 * maps them to HTTP statuses.
 */
import type { Any } from "./gen/google/protobuf/any.js";
import { Code } from "./gen/google/rpc/code.js";

export { Code };

/**
 * The HTTP status of each code, from the comments of google/rpc/code.proto. Any other code: 500.
 */
const HTTP_STATUS: ReadonlyMap<Code, number> = new Map([
  [Code.OK, 200],
  [Code.INVALID_ARGUMENT, 400],
  [Code.FAILED_PRECONDITION, 400],
  [Code.OUT_OF_RANGE, 400],
  [Code.UNAUTHENTICATED, 401],
  [Code.PERMISSION_DENIED, 403],
  [Code.NOT_FOUND, 404],
  [Code.ALREADY_EXISTS, 409],
  [Code.ABORTED, 409],
  [Code.RESOURCE_EXHAUSTED, 429],
  [Code.CANCELLED, 499],
  [Code.UNIMPLEMENTED, 501],
  [Code.UNAVAILABLE, 503],
  [Code.DEADLINE_EXCEEDED, 504],
]);

/**
 * The largest code of a status: google.rpc.Status and grpc-go store it as a signed integer of 32
 * bits.
 */
const MAX_CODE = 2 ** 31 - 1;

/**
 * Whether a call may end with the code. Some services have their own codes, above the codes of
 * google.rpc.Code.
 */
export function isStatusCode(code: number): code is Code {
  return Number.isInteger(code) && code >= 0 && code <= MAX_CODE;
}

/** The HTTP status for a gRPC code. */
export function httpStatus(code: Code): number {
  return HTTP_STATUS.get(code) ?? 500;
}

/**
 * A failed call. `message` is for the caller, so it must contain no stack, file name or internal
 * address.
 */
export class StatusError extends Error {
  readonly code: Code;
  /** The details of `google.rpc.Status`, packed as the service sent them. */
  readonly details: readonly Any[];

  constructor(code: Code, message: string, options: { details?: readonly Any[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "StatusError";
    this.code = code;
    this.details = options.details ?? [];
  }

  /**
   * Converts what was thrown to a StatusError. Anything else becomes INTERNAL, with a message that
   * discloses nothing.
   */
  static from(thrown: unknown): StatusError {
    if (thrown instanceof StatusError) return thrown;
    return new StatusError(Code.INTERNAL, "Internal error", { cause: thrown });
  }
}

/**
 * Makes an error without a stack trace. A refusal is a normal response, and a stack trace for each
 * call of a flood is expensive.
 */
export function withoutStack<E extends Error>(make: () => E): E {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Makes an error with a fixed code. The message is for the caller, the cause is for the log. */
type ErrorOf = (message: string, cause?: unknown) => StatusError;

const errorOf =
  (code: Code): ErrorOf =>
  (message, cause) =>
    new StatusError(code, message, { cause });

/**
 * The request itself is wrong. The message begins with the field: `name: must have 1 to 100
 * characters`
 */
export const invalidArgument: ErrorOf = errorOf(Code.INVALID_ARGUMENT);
/** It does not exist, or does not belong to the caller. */
export const notFound: ErrorOf = errorOf(Code.NOT_FOUND);
/** It is to be created and already exists. */
export const alreadyExists: ErrorOf = errorOf(Code.ALREADY_EXISTS);
/**
 * The current state does not allow the call; the same call may succeed after a change of the state.
 */
export const failedPrecondition: ErrorOf = errorOf(Code.FAILED_PRECONDITION);
/** The call needs a known caller. */
export const unauthenticated: ErrorOf = errorOf(Code.UNAUTHENTICATED);
/** The caller is known, and may not do this. */
export const permissionDenied: ErrorOf = errorOf(Code.PERMISSION_DENIED);
/** A limit or a quota is used up. */
export const resourceExhausted: ErrorOf = errorOf(Code.RESOURCE_EXHAUSTED);
/** A position in a sequence that does not exist, such as one whose changes are no longer stored. */
export const outOfRange: ErrorOf = errorOf(Code.OUT_OF_RANGE);
/** The call lost a race with another one, and may be repeated. */
export const aborted: ErrorOf = errorOf(Code.ABORTED);
