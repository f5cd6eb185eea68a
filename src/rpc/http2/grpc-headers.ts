/**
 * What gRPC puts into header lists (PROTOCOL-HTTP2.md, "Requests" and "Responses"): metadata, timeouts, statuses; and
 * what HTTP/2 asks of any list (RFC 9113, sections 8.2 and 8.3).
 */
import { Code } from "../../errors.js";
import type { Status } from "../channel.js";
import { type Metadata, NO_METADATA } from "../metadata.js";
import { DETAILS_TRAILER, decodeDetails, encodeDetails } from "../status.js";
import { codeOfHttpStatus } from "./errors.js";
import type { HpackEncoder } from "./hpack-encoder.js";
import type { Output } from "./output.js";
import type { Field } from "./static-table.js";

export const CONTENT_TYPE = "application/grpc";

/** With protobuf messages, which are the default ("Content-Type"). */
export function isGrpc(contentType: string | undefined): boolean {
  if (contentType === CONTENT_TYPE) return true;
  return contentType !== undefined && /^application\/grpc(\+proto)?\s*(;|$)/i.test(contentType);
}

/** Headers of the protocol, which are no metadata. */
const PROTOCOL = new Set([
  "accept-encoding",
  "content-type",
  "date",
  "grpc-accept-encoding",
  "grpc-encoding",
  "grpc-message",
  "grpc-status",
  "grpc-timeout",
  "te",
  DETAILS_TRAILER,
]);

/** Headers that HTTP/2 does not have (section 8.2.2). */
const CONNECTION_SPECIFIC = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);

const NAME = /^[0-9a-z_.-]+$/;
const TEXT = /^[ -~]*$/;

/**
 * @throws {Error} for names or values that cannot be sent
 */
export function checkMetadata(metadata: Metadata): void {
  for (const [name, value] of metadata) {
    if (!isSendable(name)) throw new Error(`"${name}" is not a name for metadata`);
    if (typeof value === "string" ? name.endsWith("-bin") || !TEXT.test(value) : !name.endsWith("-bin")) {
      throw new Error(`the value of "${name}" is not ${name.endsWith("-bin") ? "bytes" : "printable ASCII"}`);
    }
  }
}

/** Names that may be sent: there are few, and they come again with every call. */
const sendable = new Set<string>();
const MOST_KNOWN = 1_000;

function isSendable(name: string): boolean {
  if (sendable.has(name)) return true;
  if (!NAME.test(name) || PROTOCOL.has(name) || CONNECTION_SPECIFIC.has(name)) return false;
  if (sendable.size < MOST_KNOWN) sendable.add(name);
  return true;
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
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64").replace(/=+$/, "");
}

/** What is metadata among the fields of a list. */
export function metadataOf(fields: readonly Field[]): Metadata {
  let metadata: (readonly [string, string | Uint8Array])[] | undefined;
  for (const { name, value } of fields) {
    if (name.charCodeAt(0) === COLON || PROTOCOL.has(name)) continue;
    metadata ??= [];
    if (!name.endsWith("-bin")) metadata.push([name, value]);
    // Values of one name may have been joined on the way.
    else for (const part of value.split(",")) metadata.push([name, Buffer.from(part, "base64")]);
  }
  return metadata ?? NO_METADATA;
}

const COLON = 0x3a;
const ZERO = 0x30;

export type ListKind = "request" | "response" | "trailers";

/** A bit for each pseudo-header that a list may have. */
const PSEUDO: Record<ListKind, ReadonlyMap<string, number>> = {
  request: new Map([
    [":method", 1],
    [":scheme", 2],
    [":path", 4],
    [":authority", 8],
  ]),
  response: new Map([[":status", 1]]),
  trailers: new Map(),
};

/** The bits of those that it must have. */
const REQUIRED: Record<ListKind, number> = { request: 1 | 2 | 4, response: 1, trailers: 0 };

const FORBIDDEN_IN_NAME = /[^!-9;-@[-~]/;
const FORBIDDEN_IN_VALUE = /[\0\r\n]/;

/** Names that have been found sound, likewise. */
const sound = new Set<string>();

/** What is wrong with a list, where it is malformed (section 8.1.1). */
export function flawOf(fields: readonly Field[], kind: ListKind): string | undefined {
  let regular = false;
  let seen = 0;
  for (const field of fields) {
    const { name, value } = field;
    if (name.charCodeAt(0) === COLON) {
      const bit = PSEUDO[kind].get(name);
      if (regular) return `${name} comes after a header`;
      if (bit === undefined) return `${name} has no place here`;
      if (seen & bit) return `${name} comes twice`;
      if (name === ":path" && value === "") return ":path is empty";
      seen |= bit;
      continue;
    }
    regular = true;
    if (field.sound) continue;
    const flaw = flawOfName(name) ?? flawOfValue(value);
    if (flaw !== undefined) return flaw;
    if (name === "te" && value !== "trailers") return "te is not trailers";
    field.sound = true;
  }
  return (seen & REQUIRED[kind]) === REQUIRED[kind] ? undefined : "a pseudo-header is missing";
}

function flawOfName(name: string): string | undefined {
  if (sound.has(name)) return undefined;
  if (name === "" || FORBIDDEN_IN_NAME.test(name)) return "a header's name is malformed";
  if (CONNECTION_SPECIFIC.has(name)) return `HTTP/2 has no ${name}`;
  if (sound.size < MOST_KNOWN) sound.add(name);
  return undefined;
}

function flawOfValue(value: string): string | undefined {
  if (isSpace(value.charCodeAt(0)) || isSpace(value.charCodeAt(value.length - 1)) || FORBIDDEN_IN_VALUE.test(value)) {
    return "a header's value is malformed";
  }
  return undefined;
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;

const UNITS: readonly (readonly [unit: string, milliseconds: number])[] = [
  ["m", 1],
  ["S", 1_000],
  ["M", 60_000],
  ["H", 3_600_000],
];

const MILLISECONDS = new Map([...UNITS, ["u", 0.001], ["n", 0.000_001]] as const);

/** At most eight digits ("Timeout"); rounded up, and `0m` is not allowed. */
export function formatTimeout(milliseconds: number): string {
  for (const [unit, size] of UNITS) {
    const value = Math.max(Math.ceil(milliseconds / size), 1);
    if (value < 100_000_000) return `${value}${unit}`;
  }
  return "99999999H";
}

/** In milliseconds; undefined for what is no timeout. */
export function parseTimeout(text: string): number | undefined {
  const digits = text.length - 1;
  const size = MILLISECONDS.get(text[digits] ?? "");
  if (size === undefined || digits < 1 || digits > 8) return undefined;
  let value = 0;
  for (let at = 0; at < digits; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return value * size;
}

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
export function statusOf(fields: readonly Field[], httpStatus: number): Status {
  let grpcStatus: string | undefined;
  let message = "";
  let packed: string | undefined;
  for (const { name, value } of fields) {
    if (name === "grpc-status") grpcStatus = value;
    else if (name === "grpc-message") message = decodeMessage(value);
    else if (name === DETAILS_TRAILER) packed = value;
  }
  const trailers = metadataOf(fields);
  if (grpcStatus === undefined) {
    const code = codeOfHttpStatus(httpStatus);
    const what = httpStatus === 200 ? "ended the call without a status" : `answered with HTTP status ${httpStatus}`;
    return { code, message: `the service ${what}`, details: [], trailers };
  }
  return {
    code: grpcStatus === "0" ? Code.OK : codeOf(grpcStatus),
    message,
    details: packed === undefined ? [] : decodeDetails(Buffer.from(packed, "base64")),
    trailers,
  };
}

function codeOf(grpcStatus: string): Code {
  const code = /^\d{1,2}$/.test(grpcStatus) ? Number(grpcStatus) : Number.NaN;
  return Code[code] === undefined ? Code.UNKNOWN : code;
}
