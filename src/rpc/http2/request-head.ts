/** Reads the header list of a request, and decides whether it is a gRPC request that can be served. */
import { Code } from "../../errors.js";
import { type HeaderField, Kind } from "../../http2/header-names.js";
import type { Status } from "../channel.js";
import { CONTENT_TYPE, isGrpc } from "../http-to-status.js";
import { deadlineExceeded, status } from "../status.js";
import { parseTimeout } from "../timeout.js";
import { findMalformedBinary, GrpcKind } from "./headers.js";
import { ACCEPTED_ENCODINGS, isEncoding } from "./messages.js";

/** The headers of a request that belong to the protocol. */
export interface RequestHead {
  method: string;
  path: string;
  contentType: string | undefined;
  contentLength: string | undefined;
  encoding: string;
  /** In milliseconds; NaN where grpc-timeout is malformed. */
  timeout: number | undefined;
}

export function readHead(fields: readonly HeaderField[]): RequestHead {
  const head: RequestHead = {
    method: "",
    path: "",
    contentType: undefined,
    contentLength: undefined,
    encoding: "identity",
    timeout: undefined,
  };
  for (const { kind, value } of fields) {
    if (kind === Kind.METHOD) head.method = value;
    else if (kind === Kind.PATH) head.path = value;
    else if (kind === Kind.CONTENT_TYPE) head.contentType = value;
    else if (kind === Kind.CONTENT_LENGTH) head.contentLength = value;
    else if (kind === GrpcKind.ENCODING) head.encoding = value;
    else if (kind === GrpcKind.TIMEOUT) head.timeout = parseTimeout(value) ?? Number.NaN;
  }
  return head;
}

/** The HTTP status of the response to a request that is not gRPC's; undefined for one that is. */
export function httpRejectionOf({ method, contentType }: RequestHead): "405" | "415" | undefined {
  if (method !== "POST") return "405";
  return isGrpc(contentType) ? undefined : "415";
}

/** The text of that response. */
export const HTTP_REJECTION = `gRPC is spoken here: POST with content-type ${CONTENT_TYPE}\n`;

/** The status of a gRPC request that is answered before its endpoint is called; undefined for one that is to be served. */
export function rejectionOf({ encoding, timeout }: RequestHead, fields: readonly HeaderField[]): Status | undefined {
  if (!isEncoding(encoding)) {
    const message = `messages compressed by ${encoding} are not read; ${ACCEPTED_ENCODINGS} are`;
    return { ...status(Code.UNIMPLEMENTED, message), trailers: [["grpc-accept-encoding", ACCEPTED_ENCODINGS]] };
  }
  if (timeout !== undefined && Number.isNaN(timeout)) return status(Code.INTERNAL, "grpc-timeout is malformed");
  // As grpc-go does.
  if (timeout === 0) return deadlineExceeded();
  const malformed = findMalformedBinary(fields);
  if (malformed !== undefined) return status(Code.INTERNAL, `the metadata "${malformed}" is not base64`);
  return undefined;
}
