/**
 * A header field as it was received, and what its name is to HTTP/2 and gRPC: worked out once for a name that stands in a
 * table, since the same names come with every call.
 */
import { DETAILS_TRAILER } from "../rpc/status.js";
import type { Field } from "./static-table.js";

export interface ReceivedField extends Field {
  readonly kind: number;
  /** Found to be well-formed before: what stands in a table comes again and again. */
  sound: boolean;
}

/** What a name is, a bit for each. */
export const Kind = {
  METHOD: 0x1,
  SCHEME: 0x2,
  PATH: 0x4,
  AUTHORITY: 0x8,
  STATUS: 0x10,
  /** Begins as a pseudo-header does, and is none. */
  NO_PSEUDO: 0x20,
  CONTENT_TYPE: 0x40,
  CONTENT_LENGTH: 0x80,
  ENCODING: 0x100,
  TIMEOUT: 0x200,
  /** The protocol's, and none of those above. */
  PROTOCOL: 0x400,
  /** Metadata, whose value is text, or bytes. */
  TEXT: 0x800,
  BINARY: 0x1000,
  /** Malformed, or of HTTP/1.1 alone (RFC 9113, sections 8.2.1 and 8.2.2). */
  FORBIDDEN: 0x2000,
} as const;

export const PSEUDO = Kind.METHOD | Kind.SCHEME | Kind.PATH | Kind.AUTHORITY | Kind.STATUS | Kind.NO_PSEUDO;

/** What a call hands on as metadata. */
export const METADATA = Kind.TEXT | Kind.BINARY | Kind.CONTENT_LENGTH;

const KINDS: readonly (readonly [kind: number, ...names: string[]])[] = [
  [Kind.METHOD, ":method"],
  [Kind.SCHEME, ":scheme"],
  [Kind.PATH, ":path"],
  [Kind.AUTHORITY, ":authority"],
  [Kind.STATUS, ":status"],
  [Kind.CONTENT_TYPE, "content-type"],
  [Kind.CONTENT_LENGTH, "content-length"],
  [Kind.ENCODING, "grpc-encoding"],
  [Kind.TIMEOUT, "grpc-timeout"],
  [Kind.PROTOCOL, "accept-encoding", "date", "grpc-accept-encoding", "grpc-message", "grpc-status", "te"],
  [Kind.PROTOCOL, DETAILS_TRAILER],
  [Kind.FORBIDDEN, "", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"],
];

/** The names above, and those that came. */
const kinds = new Map(KINDS.flatMap(([kind, ...names]) => names.map((name) => [name, kind])));
const MAX_KNOWN = 1_000;

const FORBIDDEN_IN_NAME = /[^!-9;-@[-~]/;

/** A field with a name that no table has told. */
export function received(name: string, value: string): ReceivedField {
  return { name, value, kind: kindOf(name), sound: false };
}

export function kindOf(name: string): number {
  const known = kinds.get(name);
  if (known !== undefined) return known;
  const kind = kindOfOther(name);
  if (kinds.size < MAX_KNOWN) kinds.set(name, kind);
  return kind;
}

function kindOfOther(name: string): number {
  if (name.startsWith(":")) return Kind.NO_PSEUDO;
  if (FORBIDDEN_IN_NAME.test(name)) return Kind.FORBIDDEN;
  return name.endsWith("-bin") ? Kind.BINARY : Kind.TEXT;
}
