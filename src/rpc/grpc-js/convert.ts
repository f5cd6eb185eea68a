/** Converts metadata and statuses to @grpc/grpc-js's types and back. */
import { Metadata as GrpcMetadata, logVerbosity, type StatusObject, setLogVerbosity } from "@grpc/grpc-js";
import type { Metadata } from "../../call/metadata.js";
import { Code, isStatusCode } from "../../errors.js";
import { ErrorCode } from "../../http2/errors.js";
import { asBuffer } from "../../wire/buffer.js";
import type { Status } from "../channel.js";
import {
  connectionLost,
  DETAILS_TRAILER,
  deadlineExceeded,
  decodeDetails,
  encodeDetails,
  largerThan,
  MALFORMED_STATUS,
  protocolError,
  responseTooLarge,
  statusOfHttp,
  unreachable,
} from "../status.js";
import { CUT_SHORT, UNKNOWN_FLAG } from "./strict.js";

// grpc-js writes each value that it drops to standard error in full, and the value may be a token.
// Nothing is lost without these messages: the call's status reports the failure.
setLogVerbosity(logVerbosity.NONE);

/** Headers of the protocol, which are not metadata (PROTOCOL-HTTP2.md, "Response-Headers"). */
const PROTOCOL = new Set(["content-type", "date", "grpc-accept-encoding", "grpc-encoding", "accept-encoding"]);

/** @throws {Error} for names or values that cannot be sent */
export function toGrpc(metadata: Metadata): GrpcMetadata {
  const converted = new GrpcMetadata();
  for (const [name, value] of metadata) {
    try {
      converted.add(name, typeof value === "string" ? value : asBuffer(value));
    } catch {
      // The message of the caught error quotes the value, which may be a token.
      throw new Error(`the name or the value of "${name}" has characters that metadata cannot have`);
    }
  }
  return converted;
}

export function fromGrpc(metadata: GrpcMetadata): Metadata {
  return Object.entries(metadata.toJSON()).flatMap(([name, values]) =>
    PROTOCOL.has(name) ? [] : values.map((value) => [name, value] as const),
  );
}

/** @throws {Error} for trailers that cannot be sent */
export function toGrpcStatus(status: Status): StatusObject {
  const metadata = toGrpc(status.trailers);
  if (status.details.length > 0) metadata.set(DETAILS_TRAILER, encodeDetails(status));
  // grpc-js percent-encodes the message with encodeURI, which throws at a lone surrogate. The
  // conversion to UTF-8 replaces it.
  return { code: status.code as number, details: Buffer.from(status.message).toString(), metadata };
}

export function fromGrpcStatus({ code, details, metadata }: StatusObject): Status {
  const packed = metadata.get(DETAILS_TRAILER)[0];
  const isWellFormed = isStatusCode(code);
  return {
    code: isWellFormed ? code : Code.UNKNOWN,
    message: isWellFormed ? details : MALFORMED_STATUS,
    protocolError: !isWellFormed,
    details: packed instanceof Buffer ? decodeDetails(packed) : [],
    trailers: fromGrpc(metadata).filter(([name]) => name !== DETAILS_TRAILER),
  };
}

const HTTP_STATUS = /^Received HTTP status code (\d+)$/;
const RESET = /^Received RST_STREAM with code (\d+)/;

/**
 * The HTTP/2 error codes of resets for which grpc-js writes a text without the error code, by that
 * text.
 */
const RESETS: ReadonlyMap<string, number> = new Map([
  ["Call cancelled", ErrorCode.CANCEL],
  ["Bandwidth exhausted or memory limit exceeded", ErrorCode.ENHANCE_YOUR_CALM],
  ["Protocol not secure enough", ErrorCode.INADEQUATE_SECURITY],
]);

/**
 * @param details the details of the status that grpc-js reported
 * @returns the HTTP/2 error code with which the call's stream was reset; NO_ERROR when the stream
 * ended without trailers; undefined for any other end
 */
export function errorCodeOf(details: string): number | undefined {
  const code = RESETS.get(details) ?? RESET.exec(details)?.[1];
  return code === undefined ? undefined : Number(code);
}

/** The details that grpc-js writes for messages that cannot be read. */
const UNREADABLE =
  /^(Received message |Received compressed message |Compression method not supported|Failed to decompress )/;

/** The details that grpc-js writes for messages that are too large; they include the limit. */
const TOO_LARGE =
  /^Received message (?:larger than max \(\d+ vs |that decompresses to a size larger than )(?<limit>\d+)\)?$/;

/**
 * Replaces the messages that grpc-js itself writes, because they contain internal addresses, which
 * callers must not see. These messages are also the only sign of a call that was never sent, and of
 * a peer that broke the protocol. When grpc-js changes them, the contract suite and
 * test/cases/malformed-responses.ts fail.
 * @param notGrpc the message for a response with another content type than gRPC's; undefined for
 * gRPC's
 */
export function replaceGrpcMessage(ended: Status, notGrpc: string | undefined): Status {
  const { code, message } = ended;
  if (code === Code.DEADLINE_EXCEEDED && message.startsWith("Deadline exceeded after")) return deadlineExceeded();
  if (code === Code.UNAVAILABLE) {
    if (/^(No connection established|Name resolution failed|Stream refused by server)/.test(message)) {
      return unreachable(new Error(message));
    }
    if (/^(Connection dropped|read E|write E)/.test(message)) return { ...ended, message: connectionLost().message };
  }
  const httpStatus = HTTP_STATUS.exec(message)?.[1];
  if (httpStatus !== undefined && (httpStatus !== "200" || notGrpc === undefined)) {
    return { ...statusOfHttp(Number(httpStatus)), trailers: ended.trailers };
  }
  if (notGrpc !== undefined) return protocolError(Code.UNKNOWN, notGrpc);
  const limit = TOO_LARGE.exec(message)?.groups?.limit;
  if (limit !== undefined) return responseTooLarge(largerThan(Number(limit)));
  if (UNREADABLE.test(message)) return protocolError(code, "a message is not compressed as it should be");
  if (message === CUT_SHORT || UNKNOWN_FLAG.test(message)) return protocolError(code, message);
  return ended;
}
