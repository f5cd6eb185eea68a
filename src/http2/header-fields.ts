/**
 * Header fields that are received: the kinds of their names, and the rules of RFC 9113, sections 8.2 and 8.3, by which a
 * list is malformed. HTTP/2 has some kinds of its own; the protocol above it, such as gRPC, gives the others. The kind of
 * a name is a bit, found once for each name, since the same names come with every request.
 */
import { type HeaderField, STATIC_TABLE } from "./static-table.js";

/** A header field as it was received. */
export interface ReceivedField extends HeaderField {
  readonly kind: number;
  /** Whether it was found to be well-formed: a field in a table is checked once, not each time it comes. */
  checked: boolean;
}

/** The names that HTTP/2 has rules for. */
export const Kind = {
  METHOD: 0x1,
  SCHEME: 0x2,
  PATH: 0x4,
  AUTHORITY: 0x8,
  STATUS: 0x10,
  /** Begins with a colon, and is no pseudo-header of RFC 9113. */
  UNKNOWN_PSEUDO: 0x20,
  CONTENT_TYPE: 0x40,
  CONTENT_LENGTH: 0x80,
  /** Malformed, or of HTTP/1.1 alone (RFC 9113, sections 8.2.1 and 8.2.2). */
  FORBIDDEN: 0x100,
} as const;

/** The first bit for a kind of the protocol above. */
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

/** Names whose kind is remembered; further ones are looked at each time, so that a peer cannot make this grow. */
const MAX_KNOWN = 1_000;

const FORBIDDEN_IN_NAME = /[^!-9;-@[-~]/;

export interface HeaderNamesOptions {
  /** The kind of a well-formed name that is not in `KINDS`, from `FIRST_OWN_KIND` on. */
  readonly kindOf: (name: string) => number;
  /**
   * Names that nearly every request has with another value, none of it a secret: their first value is put into the
   * encoder's dynamic table, so that the name then has an index (see hpack-encoder.ts).
   */
  readonly indexed: readonly string[];
}

/** The header names of one protocol above HTTP/2; one for all of its connections. */
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
  /** Bytes, as RFC 9113, section 6.5.2 counts them; those of dropped fields included. */
  readonly size: number;
  /** The list is larger than allowed; fields beyond the limit have been dropped. */
  readonly tooLarge: boolean;
}

/** A tunnel is the request CONNECT (section 8.5). */
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
      // Pseudo-headers come first, once each.
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

/** The value of the first field of a name. */
export function headerOf(fields: readonly ReceivedField[], wanted: string): string | undefined {
  for (const { name, value } of fields) if (name === wanted) return value;
  return undefined;
}
