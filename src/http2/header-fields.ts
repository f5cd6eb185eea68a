/**
 * Received header fields: the kinds of their names, and the rules of RFC 9113, sections 8.2 and
 * 8.3, for malformed lists. Some kinds belong to HTTP/2. The protocol above it, such as gRPC,
 * defines the others. A kind is a bit. It is computed once for each name, because the same names
 * come with every request.
 */
import { type HeaderField, STATIC_TABLE } from "./static-table.js";

/** A header field as it was received. */
export interface ReceivedField extends HeaderField {
  readonly kind: number;
  /**
   * Whether the field was found well-formed. A field in a table is checked once, not each time it
   * arrives.
   */
  checked: boolean;
}

/** The kinds of names for which HTTP/2 has rules. */
export const Kind = {
  METHOD: 0x1,
  SCHEME: 0x2,
  PATH: 0x4,
  AUTHORITY: 0x8,
  STATUS: 0x10,
  /** Begins with a colon, but is no pseudo-header of RFC 9113. */
  UNKNOWN_PSEUDO: 0x20,
  CONTENT_TYPE: 0x40,
  CONTENT_LENGTH: 0x80,
  /** Malformed, or allowed only in HTTP/1.1 (RFC 9113, sections 8.2.1 and 8.2.2). */
  FORBIDDEN: 0x100,
} as const;

/** The lowest bit for the kinds of the protocol above HTTP/2. */
export const FIRST_OWN_KIND = 0x200;

export const PSEUDO = Kind.METHOD | Kind.SCHEME | Kind.PATH | Kind.AUTHORITY | Kind.STATUS | Kind.UNKNOWN_PSEUDO;

const KINDS: readonly (readonly [kind: number, ...names: string[]])[] = [
  [Kind.METHOD, ":method"],
  [Kind.SCHEME, ":scheme"],
  [Kind.PATH, ":path"],
  [Kind.AUTHORITY, ":authority"],
  [Kind.STATUS, ":status"],
  [Kind.CONTENT_TYPE, "content-type"],
  [Kind.CONTENT_LENGTH, "content-length"],
  [Kind.FORBIDDEN, "", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"],
];

/**
 * Maximum number of names in the cache of kinds. The limit prevents a peer from growing the cache.
 */
const MAX_KNOWN = 1_000;

const FORBIDDEN_IN_NAME = /[^!-9;-@[-~]/;

export interface HeaderNamesOptions {
  /**
   * Returns the kind of a well-formed name that is not in `KINDS`. Kinds begin at `FIRST_OWN_KIND`.
   */
  readonly kindOf: (name: string) => number;
  /**
   * Names that nearly every request has, each time with another value, which is no secret. The
   * first value of each is added to the encoder's dynamic table, so the name then has an index (see
   * hpack-encoder.ts).
   */
  readonly indexed: readonly string[];
}

/** The header names of one protocol above HTTP/2, shared by all of its connections. */
export class HeaderNames {
  readonly indexed: ReadonlySet<string>;
  /** HPACK's static table (RFC 7541, Appendix A). */
  readonly staticFields: readonly ReceivedField[];
  readonly #kindOfOther: (name: string) => number;
  readonly #kinds = new Map(KINDS.flatMap(([kind, ...names]) => names.map((name) => [name, kind])));

  constructor({ kindOf, indexed }: HeaderNamesOptions) {
    this.#kindOfOther = kindOf;
    this.indexed = new Set(indexed);
    this.staticFields = STATIC_TABLE.map(({ name, value }) => this.field(name, value));
  }

  field(name: string, value: string): ReceivedField {
    return { name, value, kind: this.kindOf(name), checked: false };
  }

  kindOf(name: string): number {
    const known = this.#kinds.get(name);
    if (known !== undefined) return known;
    const kind = this.#kindOfUnknown(name);
    if (this.#kinds.size < MAX_KNOWN) this.#kinds.set(name, kind);
    return kind;
  }

  #kindOfUnknown(name: string): number {
    if (name.startsWith(":")) return Kind.UNKNOWN_PSEUDO;
    return FORBIDDEN_IN_NAME.test(name) ? Kind.FORBIDDEN : this.#kindOfOther(name);
  }
}

export interface HeaderList {
  readonly fields: readonly ReceivedField[];
  /** Size in bytes by the rules of RFC 9113, section 6.5.2, including fields that were dropped. */
  readonly size: number;
  /** The list is larger than allowed, and fields beyond the limit were dropped. */
  readonly tooLarge: boolean;
}

/** A tunnel is a CONNECT request (section 8.5). */
export type ListType = "request" | "tunnel" | "response" | "trailers";

/** The pseudo-headers that a list may have, and those that it must have. */
const PSEUDO_HEADERS: Record<ListType, { readonly allowed: number; readonly required: number }> = {
  request: {
    allowed: Kind.METHOD | Kind.SCHEME | Kind.PATH | Kind.AUTHORITY,
    required: Kind.METHOD | Kind.SCHEME | Kind.PATH,
  },
  tunnel: { allowed: Kind.METHOD | Kind.AUTHORITY, required: Kind.METHOD | Kind.AUTHORITY },
  response: { allowed: Kind.STATUS, required: Kind.STATUS },
  trailers: { allowed: 0, required: 0 },
};

/** Whether a list is malformed (section 8.1.1). */
export function isMalformed(fields: readonly ReceivedField[], type: ListType): boolean {
  const { allowed, required } = PSEUDO_HEADERS[type];
  let regular = false;
  let seen = 0;
  for (const field of fields) {
    const { kind } = field;
    if (kind & PSEUDO) {
      // Pseudo-headers must come first, and each only once.
      if (regular || (kind & allowed) === 0 || kind & seen) return true;
      if (kind === Kind.PATH && field.value === "") return true;
      seen |= kind;
      continue;
    }
    regular = true;
    if (field.checked) continue;
    if (isMalformedField(field)) return true;
    field.checked = true;
  }
  return (seen & required) !== required;
}

const FORBIDDEN_IN_VALUE = /[\0\r\n]/;

function isMalformedField({ kind, name, value }: ReceivedField): boolean {
  if (kind === Kind.FORBIDDEN) return true;
  if (isSpace(value.charCodeAt(0)) || isSpace(value.charCodeAt(value.length - 1))) return true;
  return FORBIDDEN_IN_VALUE.test(value) || (name === "te" && value !== "trailers");
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;

/** The value of the first field with this name. */
export function headerOf(fields: readonly ReceivedField[], wanted: string): string | undefined {
  for (const { name, value } of fields) if (name === wanted) return value;
  return undefined;
}
