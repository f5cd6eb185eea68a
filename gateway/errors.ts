/**
 * Errors of the gateway. The client gets every error as the same JSON object, whether the gateway or a service made it;
 * the HTTP status is its `Code`:
 *
 *     {"Id":"helloworld","Code":404,"Detail":"No endpoint \"cal\" in helloworld","Status":"Not Found"}
 */
import { STATUS_CODES } from "node:http";
import { create, createRegistry, type JsonObject, type JsonValue, type Registry, toJson } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { readDescriptors } from "../src/contract/endpoint.js";
import { descriptorsOf } from "../src/contract/own-files.js";
import { Code, httpStatus, StatusError } from "../src/errors.js";
import type { Any } from "../src/gen/google/protobuf/any.js";
import { RetryInfo } from "../src/gen/google/rpc/error_details.js";
import { JsonError } from "../src/json/codec.js";
import type { Status } from "../src/rpc/channel.js";

/** Node still has the older phrase of 413 (RFC 9110 §15.5.14), and none for 499, which is named as in nginx. */
const REASONS: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: "Content Too Large",
  499: "Client Closed Request",
};

/** The reason phrase of an HTTP status. */
export function reason(status: number): string {
  return REASONS[status] ?? "Unknown";
}

/** An error with an HTTP status that no gRPC code stands for. `message` is written for the caller. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  /** Headers of the response: name, value, name, value … */
  readonly headers: readonly string[];

  constructor(status: number, message: string, options: { headers?: readonly string[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = status;
    this.headers = options.headers ?? [];
  }
}

/** Where the process's memory budget is used up. */
export const NO_MEMORY = new HttpError(503, "Too much is waiting to be received or read; try again", {
  headers: ["Retry-After", "1"],
});

/**
 * Converts the status of a failed call into an error. The channel's own message is not passed on: it may name internal
 * addresses. Where the service broke the protocol the code is not the service's, so the status is 502.
 */
export function toCallError(service: string, status: Status): StatusError | HttpError {
  const { code, message, details, neverSent, protocolError } = status;
  if (protocolError) return new HttpError(502, `The call to ${service} broke the protocol of gRPC: ${message}`);
  if (neverSent && code === Code.UNAVAILABLE) {
    return new UnreachableError(code, `${service} cannot be reached at the moment`, { cause: message });
  }
  return new StatusError(code, message, { details });
}

/** No instance has received the call, so it may be sent again. */
export class UnreachableError extends StatusError {}

/** The error of a service that must answer with one message, and answered with another number. */
export function notOneMessage(service: string, count: number): HttpError {
  return new HttpError(502, `${service} answered with ${count} messages instead of one`);
}

/** The reply to an error. */
export interface ErrorReply {
  readonly status: number;
  /** Name, value, name, value … */
  readonly headers: readonly string[];
  /** The error object as JSON. */
  readonly body: string;
}

/**
 * Converts anything thrown into the reply that the client gets.
 * @param id the service that the request was directed to, or `gateway`
 * @param types of that service, to write the details of its errors
 */
export function toErrorReply(id: string, thrown: unknown, types?: Registry): ErrorReply {
  if (thrown instanceof HttpError) return reply(id, thrown.status, thrown.message, thrown.headers);
  if (thrown instanceof JsonError) return reply(id, 400, thrown.message, []);
  const error = StatusError.from(thrown);
  const status = httpStatus(error.code);
  const details = error.details.filter(({ typeUrl }) => typeName(typeUrl) !== DEBUG_INFO);
  return reply(id, status, publicMessage(error), headersOf(status, details), details, types);
}

function reply(
  id: string,
  status: number,
  detail: string,
  headers: readonly string[],
  details: readonly Any[] = [],
  types?: Registry,
): ErrorReply {
  const error = { Id: id, Code: status, Detail: detail || reason(status), Status: reason(status) };
  const body = details.length === 0 ? error : { ...error, Details: details.map((detail) => readable(detail, types)) };
  return { status, headers, body: JSON.stringify(body) };
}

/** Stack traces, for the service's own developers: never sent to a client. */
const DEBUG_INFO = "google.rpc.DebugInfo";
const MAX_MESSAGE = 1024;

/**
 * The part of a service's error message that a client may read. gRPC servers turn an uncaught exception into UNKNOWN, whose
 * text was not written for callers; of other errors the client gets the first line, since a stack may follow it.
 */
function publicMessage({ code, message }: StatusError): string {
  if (code === Code.UNKNOWN) return "Internal error";
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

/** Whole seconds (RFC 9110 §10.2.3), rounded up, from google.rpc.RetryInfo. */
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

let standardTypes: Registry | undefined;
/** A service's types together with the standard ones, made once for each service. */
const withStandardTypes = new WeakMap<Registry, Registry>();

function registryOf(types: Registry | undefined): Registry {
  standardTypes ??= readDescriptors(descriptorsOf("google.rpc", "google.protobuf"));
  if (types === undefined) return standardTypes;
  let registry = withStandardTypes.get(types);
  if (registry === undefined) {
    registry = createRegistry(standardTypes, types);
    withStandardTypes.set(types, registry);
  }
  return registry;
}

/** An error detail in proto3 JSON; in base64 where its type is unknown or its bytes are malformed. */
function readable({ typeUrl, value }: Any, types: Registry | undefined): JsonValue {
  const detail = create(AnySchema, { typeUrl, value });
  const type = { "@type": typeUrl };
  const options = { registry: registryOf(types), alwaysEmitImplicit: true };
  try {
    return { ...type, ...(toJson(AnySchema, detail, options) as JsonObject) };
  } catch {
    return { ...type, value: Buffer.from(value).toString("base64") };
  }
}

function typeName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
}
