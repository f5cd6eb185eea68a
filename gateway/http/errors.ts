/**
 * Errors of the gateway, and the type Failure, into which every error of the gateway or a service
 * is converted. Dialects write failures; error-object.ts writes them as JSON.
 */
import { STATUS_CODES } from "node:http";
import { Code, httpStatus, StatusError, withoutStack } from "../../src/errors.js";
import type { Any } from "../../src/gen/google/protobuf/any.js";
import { RetryInfo } from "../../src/gen/google/rpc/error_details.js";
import { JsonError } from "../../src/json/codec.js";
import type { Status } from "../../src/rpc/channel.js";
import { isOverload } from "../../src/rpc/status.js";

/**
 * Node still has the older phrase for 413 (RFC 9110 §15.5.14). It has none for 499, a status that
 * nginx introduced.
 */
const REASONS: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: "Content Too Large",
  499: "Client Closed Request",
};

/** The reason phrase of an HTTP status. */
export function reason(status: number): string {
  return REASONS[status] ?? "Unknown";
}

const CODES: Readonly<Record<number, Code | undefined>> = {
  401: Code.UNAUTHENTICATED,
  403: Code.PERMISSION_DENIED,
  404: Code.UNIMPLEMENTED,
  405: Code.UNKNOWN,
  408: Code.DEADLINE_EXCEEDED,
  413: Code.RESOURCE_EXHAUSTED,
  415: Code.UNKNOWN,
  421: Code.PERMISSION_DENIED,
  426: Code.UNIMPLEMENTED,
  429: Code.RESOURCE_EXHAUSTED,
  431: Code.RESOURCE_EXHAUSTED,
  499: Code.CANCELLED,
  503: Code.UNAVAILABLE,
  504: Code.DEADLINE_EXCEEDED,
};

/** The gRPC code that is closest to an HTTP status. */
function codeOf(status: number): Code {
  return CODES[status] ?? (status < 500 ? Code.INVALID_ARGUMENT : Code.INTERNAL);
}

/**
 * An error with an HTTP status that corresponds to no gRPC code. `message` is written for the
 * caller.
 */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  /** For dialects that send codes instead of HTTP statuses. */
  readonly code: Code;
  /** Headers of the response: name, value, name, value … */
  readonly headers: readonly string[];

  /** @param options `code` where it is not the code that corresponds to the HTTP status */
  constructor(
    status: number,
    message: string,
    options: { headers?: readonly string[]; cause?: unknown; code?: Code } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = status;
    this.code = options.code ?? codeOf(status);
    this.headers = options.headers ?? [];
  }
}

/** The status of a request whose client has gone. */
export const CLIENT_GONE = 499;

/** The error of a request for which the process's memory budget has no memory left. */
export const NO_MEMORY = new HttpError(503, "Too much is waiting to be received or read; try again", {
  headers: ["Retry-After", "1"],
  code: Code.RESOURCE_EXHAUSTED,
});

/** The body was given up to make memory free for a later body of the same client. */
export const GIVEN_UP = new HttpError(
  503,
  "The body was given up: too many bodies of this client are unfinished, and it was the oldest; send fewer at once",
  { headers: ["Retry-After", "1"], code: Code.RESOURCE_EXHAUSTED },
);

/** The gateway has more requests than it can process in time. */
export const OVERLOADED = new HttpError(
  503,
  "The gateway has more requests than it can process in time; try again later",
  {
    headers: ["Retry-After", "1"],
  },
);

/**
 * Converts the status of a failed call into an error. The channel's own message is not passed on,
 * because it may contain internal addresses. Where the service broke the protocol or its response
 * is too large, the code was not sent by the service, so the HTTP status is 502.
 * @param form undefined if the options of the service say nothing about its errors
 */
export function toCallError(service: string, status: Status, form?: ErrorForm): StatusError | HttpError {
  const { code, message, details, neverSent, protocolError, tooLarge } = status;
  if (tooLarge) return responseTooLargeError(service, message);
  if (protocolError)
    return new HttpError(502, `The call to ${service} broke the protocol of gRPC: ${message}`, { code });
  if (neverSent && isOverload(status)) return withoutStack(() => new OverloadError(code, message, { details }));
  if (neverSent && code === Code.UNAVAILABLE) {
    return new UnreachableError(code, `${service} cannot be reached at the moment`, { cause: message });
  }
  return form === undefined
    ? new StatusError(code, message, { details })
    : new ServiceError(form, code, message, { details });
}

/** What the options of a service say about one of its errors. */
interface ErrorForm {
  /** For dialects that use the statuses of services; undefined for the status of the code. */
  readonly httpStatus: number | undefined;
  /** Whether callers see the message of the code UNKNOWN. */
  readonly showUnknown: boolean;
}

/** An error of a service whose options say something about its errors. */
class ServiceError extends StatusError {
  constructor(
    readonly form: ErrorForm,
    ...error: ConstructorParameters<typeof StatusError>
  ) {
    super(...error);
  }
}

/**
 * The error for a service whose response exceeds a limit of the gateway.
 * @param what names the part that is too large, and the limit
 */
export function responseTooLargeError(service: string, what: string, cause?: unknown): HttpError {
  return new HttpError(502, `${service} responded with too much: ${what}`, { code: Code.RESOURCE_EXHAUSTED, cause });
}

/** The gateway did not send the call, because the service is overloaded. */
export class OverloadError extends StatusError {}

/** No instance has received the call, so it may be sent again. */
export class UnreachableError extends StatusError {}

/**
 * The error for a service that must respond with one message, and responded with none or several.
 */
export function notOneMessage(service: string, count: number): HttpError {
  return new HttpError(502, `${service} responded with ${count} messages instead of one`);
}

/**
 * A message has types that must first be fetched from the service. Thrown only where
 * `EndpointTarget.complete` or a similar method catches it and fetches the types.
 */
export class MissingTypesError extends Error {
  override readonly name = "MissingTypesError";

  constructor(readonly types: readonly string[]) {
    super(`types that are not known yet: ${types.join(", ")}`);
  }
}

/** What a client gets to know about an error, not yet written in a dialect. */
export interface Failure {
  /** The HTTP status. */
  readonly status: number;
  readonly code: Code;
  /** Written for callers. */
  readonly message: string;
  /**
   * The message exactly as the service wrote it, where a service made the error. It is for dialects
   * that pass on gRPC's statuses unchanged.
   */
  readonly original: string;
  readonly details: readonly Any[];
  /** Name, value, name, value … */
  readonly headers: readonly string[];
}

/**
 * Converts anything thrown.
 * @param usesServiceStatus see `Dialect`
 */
export function toFailure(thrown: unknown, usesServiceStatus = false): Failure {
  if (thrown instanceof HttpError) {
    const { status, code, message, headers } = thrown;
    return { status, code, message, original: message, details: [], headers };
  }
  if (thrown instanceof JsonError) {
    const { message } = thrown;
    return { status: 400, code: Code.INVALID_ARGUMENT, message, original: message, details: [], headers: [] };
  }
  const error = StatusError.from(thrown);
  const { code, message: original } = error;
  const form = error instanceof ServiceError ? error.form : undefined;
  const status = (usesServiceStatus ? form?.httpStatus : undefined) ?? httpStatus(code);
  const details = error.details.filter(({ typeUrl }) => typeName(typeUrl) !== DEBUG_INFO);
  const message = publicMessage(error, form?.showUnknown);
  return { status, code, message, original, details, headers: headersOf(status, details) };
}

/** Stack traces, for the service's own developers: never sent to a client. */
const DEBUG_INFO = "google.rpc.DebugInfo";
const MAX_MESSAGE = 1024;

/**
 * The part of a service's error message that a client may read. gRPC servers convert an uncaught
 * exception into UNKNOWN, and its text was not written for callers. For other errors the client
 * gets the first line, since a stack may follow it.
 */
function publicMessage({ code, message }: StatusError, showUnknown = false): string {
  if (code === Code.UNKNOWN && !showUnknown) return "Internal error";
  const end = message.search(/[\r\n]/);
  return (end < 0 ? message : message.slice(0, end)).slice(0, MAX_MESSAGE);
}

function headersOf(status: number, details: readonly Any[]): readonly string[] {
  if (status === 401) return ["WWW-Authenticate", "Bearer"];
  if (status !== 429 && status !== 503) return [];
  const delay = retryDelay(details);
  if (delay !== undefined) return ["Retry-After", String(delay)];
  return status === 429 ? ["Retry-After", "1"] : [];
}

/** The delay of google.rpc.RetryInfo in whole seconds (RFC 9110 §10.2.3), rounded up. */
function retryDelay(details: readonly Any[]): number | undefined {
  const detail = details.find(({ typeUrl }) => typeName(typeUrl) === "google.rpc.RetryInfo");
  if (detail === undefined) return undefined;
  try {
    const delay = RetryInfo.decode(detail.value).retryDelay;
    return delay && Math.max(0, Number(delay.seconds) + (delay.nanos > 0 ? 1 : 0));
  } catch {
    return undefined;
  }
}

/** The name of a message type in its type URL. */
export function typeName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
}
