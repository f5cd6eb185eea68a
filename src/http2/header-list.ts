/** Header lists, and the rules of RFC 9113, sections 8.2 and 8.3, by which a list is malformed. */
import { type HeaderField, Kind, PSEUDO } from "./header-names.js";

export interface HeaderList {
  readonly fields: readonly HeaderField[];
  /** The list is larger than allowed; fields beyond the limit have been dropped. */
  readonly tooLarge: boolean;
}

export type ListType = "request" | "response" | "trailers";

/** The pseudo-headers that a list may have, and those that it must have. */
const PSEUDO_HEADERS: Record<ListType, { readonly allowed: number; readonly required: number }> = {
  request: {
    allowed: Kind.METHOD | Kind.SCHEME | Kind.PATH | Kind.AUTHORITY,
    required: Kind.METHOD | Kind.SCHEME | Kind.PATH,
  },
  response: { allowed: Kind.STATUS, required: Kind.STATUS },
  trailers: { allowed: 0, required: 0 },
};

/** Whether a list is malformed (section 8.1.1). */
export function isMalformed(fields: readonly HeaderField[], type: ListType): boolean {
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

function isMalformedField({ kind, name, value }: HeaderField): boolean {
  if (kind === Kind.FORBIDDEN) return true;
  if (isSpace(value.charCodeAt(0)) || isSpace(value.charCodeAt(value.length - 1))) return true;
  return FORBIDDEN_IN_VALUE.test(value) || (name === "te" && value !== "trailers");
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;

/** The value of the first field of a name. */
export function headerOf(fields: readonly HeaderField[], wanted: string): string | undefined {
  for (const { name, value } of fields) if (name === wanted) return value;
  return undefined;
}
