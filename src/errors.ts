/**
 * One error class for everything that can go wrong with a call. Its codes are those of `google.rpc.Code`
 * (https://grpc.io/docs/guides/status-codes/), or a service's own above them; the same table gives the HTTP status.
 */
import type { Any } from "./gen/google/protobuf/any.js";
import { Code } from "./gen/google/rpc/code.js";

export { Code };

/** The HTTP status of each code, from the comments of google/rpc/code.proto. Not listed: 500. */
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

/** The largest code of a status: google.rpc.Status and grpc-go keep it as a signed integer of 32 bits. */
const MAX_CODE = 2 ** 31 - 1;

/** Whether a call may end with the code. Some services have codes of their own, above those of google.rpc.Code. */
export function isStatusCode(code: number): code is Code {
  return Number.isInteger(code) && code >= 0 && code <= MAX_CODE;
}

/** The HTTP status that stands for a gRPC code. */
export function httpStatus(code: Code): number {
  return HTTP_STATUS.get(code) ?? 500;
}

/** A call that failed. `message` is written for the caller: no stack, no file name, no internal address. */
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

  /** What was thrown, as a StatusError. Anything else becomes INTERNAL, with a message that discloses nothing. */
  static from(thrown: unknown): StatusError {
    if (thrown instanceof StatusError) return thrown;
    return new StatusError(Code.INTERNAL, "Internal error", { cause: thrown });
  }
}

/** Makes an error without a stack trace. Refusals are answers, not faults, and a trace for each of a flood of them is expensive. */
export function withoutStack<E extends Error>(make: () => E): E {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Makes the error of a code. The message is written for the caller, the cause is for the log. */
type ErrorOf = (message: string, cause?: unknown) => StatusError;

const errorOf =
  (code: Code): ErrorOf =>
  (message, cause) =>
    new StatusError(code, message, { cause });

/** For a request that is wrong by itself. The message begins with the field: `name: must have 1 to 100 characters` */
export const invalidArgument: ErrorOf = errorOf(Code.INVALID_ARGUMENT);
/** For what does not exist, or is not the caller's. */
export const notFound: ErrorOf = errorOf(Code.NOT_FOUND);
/** For something that is to be created and exists. */
export const alreadyExists: ErrorOf = errorOf(Code.ALREADY_EXISTS);
/** For a call that the state of things does not allow; the same call may succeed once that has changed. */
export const failedPrecondition: ErrorOf = errorOf(Code.FAILED_PRECONDITION);
/** For a call that takes a known caller. */
export const unauthenticated: ErrorOf = errorOf(Code.UNAUTHENTICATED);
/** For a caller who is known, and may not do this. */
export const permissionDenied: ErrorOf = errorOf(Code.PERMISSION_DENIED);
/** For a limit or a quota that is used up. */
export const resourceExhausted: ErrorOf = errorOf(Code.RESOURCE_EXHAUSTED);
/** For a place in a sequence that is not there, such as a position whose changes are not kept any more. */
export const outOfRange: ErrorOf = errorOf(Code.OUT_OF_RANGE);
/** For a call that lost a race with others, and may be made again. */
export const aborted: ErrorOf = errorOf(Code.ABORTED);
