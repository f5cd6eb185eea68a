/**
 * What gRPC puts into header lists (PROTOCOL-HTTP2.md, "Requests" and "Responses"): metadata, timeouts, statuses; and
 * what HTTP/2 asks of any list (RFC 9113, sections 8.2 and 8.3).
 */
import { asBuffer } from "../../buffer.js";
import { Code } from "../../errors.js";
import type { HpackEncoder } from "../../http2/hpack-encoder.js";
import type { Output } from "../../http2/output.js";
import { Kind, kindOf, METADATA, PSEUDO, type ReceivedField } from "../../http2/received-field.js";
import type { Field } from "../../http2/static-table.js";
import type { Status } from "../channel.js";
import { statusOfHttp } from "../http-to-status.js";
import { type Metadata, NO_METADATA } from "../metadata.js";
import { DETAILS_TRAILER, decodeDetails, encodeDetails, protocolError } from "../status.js";

const NAME = /^[0-9a-z_.-]+$/;
const TEXT = /^[ -~]*$/;

/**
 * @throws {Error} for names or values that cannot be sent
 */
export function checkMetadata(metadata: Metadata): void {
  for (const [name, value] of metadata) {
    const binary = (sendable.get(name) ?? kindToSend(name)) === Kind.BINARY;
    if (binary ? typeof value !== "string" : typeof value === "string" && TEXT.test(value)) continue;
    throw new Error(`the value of "${name}" is not ${binary ? "bytes" : "printable ASCII"}`);
  }
}

/** Names that may be sent, and what they are: there are few, and they come again with every call. */
const sendable = new Map<string, number>();
const MAX_KNOWN = 1_000;

function kindToSend(name: string): number {
  const kind = kindOf(name);
  if (!NAME.test(name) || (kind & METADATA) === 0) throw new Error(`"${name}" is not a name for metadata`);
  if (sendable.size < MAX_KNOWN) sendable.set(name, kind);
  return kind;
}

/** Bytes of a header list that metadata takes; at least as many as it takes of a block. */
export function roomOf(metadata: Metadata): number {
  let room = 0;
  for (const [name, value] of metadata) {
    room += name.length + 32 + (typeof value === "string" ? value.length : Math.ceil((value.length * 4) / 3));
  }
  return room;
}

/** Writes metadata that has been checked. */
export function writeMetadata(encoder: HpackEncoder, output: Output, metadata: Metadata): void {
  for (const [name, value] of metadata) encoder.field(output, name, typeof value === "string" ? value : base64(value));
}

/** Without padding, as the protocol has it. */
function base64(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("base64").replace(/=+$/, "");
}

/** What is metadata among the fields of a list. */
export function metadataOf(fields: readonly ReceivedField[]): Metadata {
  let metadata: (readonly [string, string | Uint8Array])[] | undefined;
  for (const { kind, name, value } of fields) {
    if ((kind & METADATA) === 0) continue;
    metadata ??= [];
    if (kind !== Kind.BINARY) metadata.push([name, value]);
    // Values of one name may have been joined on the way.
    else for (const part of value.split(",")) metadata.push([name, Buffer.from(part, "base64")]);
  }
  return metadata ?? NO_METADATA;
}

/** Base64, with padding or without ("Custom-Metadata"). */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/** The name of metadata whose value should be bytes and is not; undefined where all is well. */
export function malformedBinary(fields: readonly ReceivedField[]): string | undefined {
  for (const { kind, name, value } of fields) {
    if (kind !== Kind.BINARY) continue;
    for (const part of value.split(",")) if (!BASE64.test(part.trim())) return name;
  }
  return undefined;
}

export function headerOf(fields: readonly Field[], wanted: string): string | undefined {
  for (const { name, value } of fields) if (name === wanted) return value;
  return undefined;
}

export type ListKind = "request" | "response" | "trailers";

/** The pseudo-headers that a list may have, and those that it must have. */
const PSEUDO_HEADERS: Record<ListKind, { readonly allowed: number; readonly required: number }> = {
  request: {
    allowed: Kind.METHOD | Kind.SCHEME | Kind.PATH | Kind.AUTHORITY,
    required: Kind.METHOD | Kind.SCHEME | Kind.PATH,
  },
  response: { allowed: Kind.STATUS, required: Kind.STATUS },
  trailers: { allowed: 0, required: 0 },
};

/** What is wrong with a list, where it is malformed (section 8.1.1). */
export function flawOf(fields: readonly ReceivedField[], of: ListKind): string | undefined {
  const { allowed, required } = PSEUDO_HEADERS[of];
  let regular = false;
  let seen = 0;
  for (const field of fields) {
    const { kind } = field;
    if (kind & PSEUDO) {
      if (regular) return `${field.name} comes after a header`;
      if ((kind & allowed) === 0) return `${field.name} has no place here`;
      if (kind & seen) return `${field.name} comes twice`;
      if (kind === Kind.PATH && field.value === "") return ":path is empty";
      seen |= kind;
      continue;
    }
    regular = true;
    if (field.sound) continue;
    const flaw = flawOfHeader(field);
    if (flaw !== undefined) return flaw;
    field.sound = true;
  }
  return (seen & required) === required ? undefined : "a pseudo-header is missing";
}

const FORBIDDEN_IN_VALUE = /[\0\r\n]/;

function flawOfHeader({ kind, name, value }: ReceivedField): string | undefined {
  if (kind === Kind.FORBIDDEN) return `no header is called ${name}`;
  if (isSpace(value.charCodeAt(0)) || isSpace(value.charCodeAt(value.length - 1)) || FORBIDDEN_IN_VALUE.test(value)) {
    return "a header's value is malformed";
  }
  return name === "te" && value !== "trailers" ? "te is not trailers" : undefined;
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;

/** Percent-encoding of what is not printable ASCII ("Status-Message"). */
export function encodeMessage(message: string): string {
  if (/^[ -$&-~]*$/.test(message)) return message;
  let encoded = "";
  for (const byte of Buffer.from(message)) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** Takes what is not encoded as it should be for what it is, as the protocol asks. */
export function decodeMessage(encoded: string): string {
  if (!/[%\x80-\xff]/.test(encoded)) return encoded;
  const bytes = Buffer.from(
    encoded.replace(/%([0-9a-fA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  return bytes.toString();
}

/** What carries a status that is not OK, beside its code. The trailers have been checked. */
export function statusMetadata(status: Status): Metadata {
  const metadata = [...status.trailers];
  if (status.message !== "") metadata.push(["grpc-message", encodeMessage(status.message)]);
  if (status.details.length > 0) metadata.push([DETAILS_TRAILER, encodeDetails(status)]);
  return metadata;
}

/**
 * The status in trailers.
 * @param httpStatus what stands for it where there is none
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
  return { ...protocolError(Code.UNKNOWN, "the service ended the call with an unknown status"), details, trailers };
}

function codeOf(grpcStatus: string): Code | undefined {
  const code = /^\d{1,2}$/.test(grpcStatus) ? Number(grpcStatus) : Number.NaN;
  return Code[code] === undefined ? undefined : code;
}
