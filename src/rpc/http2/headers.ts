/**
 * gRPC's use of header lists (PROTOCOL-HTTP2.md, "Requests" and "Responses"): the names that have
 * special rules, the head of a request, metadata, and the status in trailers.
 */

import { CLIENT_ADDRESS, isBinaryName, type Metadata, NO_METADATA, parseTimeout } from "../../call/metadata.js";
import { Code, isStatusCode } from "../../errors.js";
import type { FrameWriter } from "../../http2/frame-writer.js";
import { FIRST_OWN_KIND, type HeaderList, HeaderNames, Kind, type ReceivedField } from "../../http2/header-fields.js";
import { type HeaderField, sizeOf } from "../../http2/static-table.js";
import { asBuffer } from "../../wire/buffer.js";
import type { Status } from "../channel.js";
import {
  CONTENT_TYPE,
  DETAILS_TRAILER,
  deadlineExceeded,
  decodeDetails,
  encodeDetails,
  isGrpc,
  MALFORMED_STATUS,
  protocolError,
  STATUS,
  status,
  statusOfHttp,
} from "../status.js";
import { decodeMessage, encodeMessage } from "../status-message.js";
import { ACCEPTED_ENCODINGS, isEncoding } from "./messages.js";

/** The kinds of names for which gRPC has rules, in addition to HTTP/2's. */
export const GrpcKind = {
  ENCODING: FIRST_OWN_KIND,
  TIMEOUT: FIRST_OWN_KIND << 1,
  /** All other names that belong to the protocol. */
  RESERVED: FIRST_OWN_KIND << 2,
  TEXT: FIRST_OWN_KIND << 3,
  BINARY: FIRST_OWN_KIND << 4,
} as const;

const KINDS: ReadonlyMap<string, number> = new Map([
  ["grpc-encoding", GrpcKind.ENCODING],
  ["grpc-timeout", GrpcKind.TIMEOUT],
  ...["accept-encoding", "date", "grpc-accept-encoding", "grpc-message", "grpc-status", "te", DETAILS_TRAILER].map(
    (name) => [name, GrpcKind.RESERVED] as const,
  ),
]);

/** The kinds of names that a call passes on as metadata, with their values. */
const METADATA = GrpcKind.TEXT | GrpcKind.BINARY | Kind.CONTENT_LENGTH;

/** The header names of all connections of Portico. */
export const HEADER_NAMES = new HeaderNames({
  kindOf: (name) => KINDS.get(name) ?? (isBinaryName(name) ? GrpcKind.BINARY : GrpcKind.TEXT),
  indexed: ["grpc-timeout", "platform-namespace", "x-request-id", "traceparent", "tracestate", CLIENT_ADDRESS],
});

const NAME = /^[0-9a-z_.-]+$/;
const TEXT = /^[ -~]*$/;

/** @throws {Error} for names or values that cannot be sent */
export function checkMetadata(metadata: Metadata): void {
  for (const [name, value] of metadata) {
    const binary = (sendable.get(name) ?? kindToSend(name)) === GrpcKind.BINARY;
    if (binary ? typeof value !== "string" : typeof value === "string" && TEXT.test(value)) continue;
    throw new Error(`the value of "${name}" is not ${binary ? "bytes" : "printable ASCII"}`);
  }
}

/**
 * The kinds of names that can be sent, cached: there are few names, and they repeat with every
 * call.
 */
const sendable = new Map<string, number>();
const MAX_KNOWN = 1_000;

function kindToSend(name: string): number {
  const kind = HEADER_NAMES.kindOf(name);
  if (!NAME.test(name) || (kind & METADATA) === 0) throw new Error(`"${name}" is not a name for metadata`);
  if (sendable.size < MAX_KNOWN) sendable.set(name, kind);
  return kind;
}

/** Bytes of metadata in a header list. In a header block the metadata never takes more. */
export function sizeOfMetadata(metadata: Metadata): number {
  let size = 0;
  for (const [name, value] of metadata) {
    size += name.length + 32 + (typeof value === "string" ? value.length : Math.ceil((value.length * 4) / 3));
  }
  return size;
}

/** Writes metadata. `checkMetadata` must have accepted it. */
export function writeMetadata({ encoder, output }: FrameWriter, metadata: Metadata): void {
  for (const [name, value] of metadata) encoder.field(output, name, typeof value === "string" ? value : base64(value));
}

/** Base64 without padding, as gRPC sends it. */
function base64(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("base64").replace(/=+$/, "");
}

/** Maximum number of `-bin` values in the metadata of a list. */
export const MAX_BINARY_VALUES = 256;
/**
 * Memory overhead of each such value in bytes: about the size of a Buffer and of the entry that
 * holds it.
 */
const BINARY_VALUE_COST = 128;

/**
 * Bytes of memory that a list needs as metadata; undefined when it is too large. This does not
 * depend on the bytes that were sent: one field may have many binary values, and a repeated field
 * takes one byte of a header block.
 */
export function memoryOf({ fields, size, tooLarge }: HeaderList): number | undefined {
  if (tooLarge) return undefined;
  let values = 0;
  for (const { kind, value } of fields) {
    if (kind !== GrpcKind.BINARY) continue;
    let comma = -1;
    do {
      if (++values > MAX_BINARY_VALUES) return undefined;
      comma = value.indexOf(",", comma + 1);
    } while (comma !== -1);
  }
  return size + values * BINARY_VALUE_COST;
}

export function metadataOf(fields: readonly ReceivedField[]): Metadata {
  let metadata: (readonly [string, string | Uint8Array])[] | undefined;
  for (const { kind, name, value } of fields) {
    if ((kind & METADATA) === 0) continue;
    metadata ??= [];
    if (kind !== GrpcKind.BINARY) metadata.push([name, value]);
    // A proxy may have joined several values of one name.
    else for (const part of value.split(",")) metadata.push([name, Buffer.from(part, "base64")]);
  }
  return metadata ?? NO_METADATA;
}

/** Base64, with or without padding ("Custom-Metadata"). */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/** The name of the first metadata entry that must have a base64 value and does not. */
export function findMalformedBinary(fields: readonly ReceivedField[]): string | undefined {
  for (const { kind, name, value } of fields) {
    if (kind !== GrpcKind.BINARY) continue;
    for (const part of value.split(",")) if (!BASE64.test(part.trim())) return name;
  }
  return undefined;
}

/**
 * The trailers of a status that is not OK, without its code. `checkMetadata` must have accepted its
 * trailers.
 */
export function statusMetadata(status: Status): Metadata {
  const metadata = [...status.trailers];
  if (status.message !== "") metadata.push(["grpc-message", encodeMessage(status.message)]);
  if (status.details.length > 0) metadata.push([DETAILS_TRAILER, encodeDetails(status)]);
  return metadata;
}

/**
 * Reads the status from trailers.
 * @param httpStatus determines the status when the trailers contain none
 */
export function statusOf(fields: readonly ReceivedField[], httpStatus: number): Status {
  let grpcStatus: string | undefined;
  let message = "";
  let packed: string | undefined;
  for (const { name, value } of fields) {
    if (name === "grpc-status") grpcStatus = value;
    else if (name === "grpc-message") message = decodeMessage(value);
    else if (name === DETAILS_TRAILER) packed = value;
  }
  const trailers = metadataOf(fields);
  if (grpcStatus === undefined) return { ...statusOfHttp(httpStatus), trailers };
  const details = packed === undefined ? [] : decodeDetails(Buffer.from(packed, "base64"));
  const code = grpcStatus === "0" ? Code.OK : codeOf(grpcStatus);
  if (code !== undefined) return { code, message, details, trailers };
  return { ...protocolError(Code.UNKNOWN, MALFORMED_STATUS), details, trailers };
}

function codeOf(grpcStatus: string): Code | undefined {
  const code = STATUS.test(grpcStatus) ? Number(grpcStatus) : Number.NaN;
  return isStatusCode(code) ? code : undefined;
}

/** The headers that all of a channel's requests to one path have. */
export interface PathHeaders {
  readonly fields: readonly HeaderField[];
  /** Maximum bytes of these headers in a header block. */
  readonly size: number;
}

const MAX_PATHS = 1_000;

/** Returns the headers of a channel's requests to a path. They are created once for each path. */
export function requestHeaders(scheme: "http" | "https", authority: string): (path: string) => PathHeaders {
  const made = new Map<string, PathHeaders>();
  return (path) => {
    const known = made.get(path);
    if (known !== undefined) return known;
    const fields = [
      { name: ":method", value: "POST" },
      { name: ":scheme", value: scheme },
      { name: ":path", value: path },
      { name: ":authority", value: authority },
      { name: "te", value: "trailers" },
      { name: "content-type", value: CONTENT_TYPE },
      { name: "grpc-accept-encoding", value: ACCEPTED_ENCODINGS },
      { name: "user-agent", value: "grpc-node-portico" },
    ];
    const headers = { fields, size: fields.reduce((size, field) => size + sizeOf(field), 0) };
    if (made.size < MAX_PATHS) made.set(path, headers);
    return headers;
  };
}

/** The headers of a request that belong to the protocol. */
export interface GrpcRequestHead {
  method: string;
  path: string;
  contentType: string | undefined;
  contentLength: string | undefined;
  encoding: string;
  /** In milliseconds; NaN when grpc-timeout is malformed. */
  timeout: number | undefined;
}

export function readHead(fields: readonly ReceivedField[]): GrpcRequestHead {
  const head: GrpcRequestHead = {
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

/** The HTTP status of the response to a request that is not gRPC; undefined for a gRPC request. */
export function httpRejectionOf({ method, contentType }: GrpcRequestHead): "405" | "415" | undefined {
  if (method !== "POST") return "405";
  return isGrpc(contentType) ? undefined : "415";
}

/** The body of that response. */
export const HTTP_REJECTION = `gRPC is spoken here: POST with content-type ${CONTENT_TYPE}\n`;

/**
 * The status of a gRPC request that is rejected before its endpoint is called; undefined for a
 * request that is served.
 */
export function rejectionOf(
  { encoding, timeout }: GrpcRequestHead,
  fields: readonly ReceivedField[],
): Status | undefined {
  if (!isEncoding(encoding)) {
    const message = `messages compressed by ${encoding} are not read; ${ACCEPTED_ENCODINGS} are`;
    return { ...status(Code.UNIMPLEMENTED, message), trailers: [["grpc-accept-encoding", ACCEPTED_ENCODINGS]] };
  }
  if (timeout !== undefined && Number.isNaN(timeout)) return status(Code.INTERNAL, "grpc-timeout is malformed");
  // grpc-go does the same.
  if (timeout === 0) return deadlineExceeded();
  const malformed = findMalformedBinary(fields);
  if (malformed !== undefined) return status(Code.INTERNAL, `the metadata "${malformed}" is not base64`);
  return undefined;
}
