/**
 * The static table of HPACK (RFC 7541, Appendix A), and the size of a field, for encoder and
 * decoder.
 */

/** A header field. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
}

/**
 * The size of a field in a table and in a header list, in bytes (RFC 7541, section 4.1; RFC 9113,
 * section 6.5.2).
 */
export function sizeOf({ name, value }: HeaderField): number {
  return name.length + value.length + 32;
}

/** Bytes of the dynamic table until settings change it (RFC 9113, section 6.5.2). */
export const DEFAULT_TABLE_SIZE = 4096;

/** Index 0 is not used. */
// biome-ignore format: a table
export const STATIC_TABLE: readonly HeaderField[] = (
  [
    ["", ""], [":authority", ""], [":method", "GET"], [":method", "POST"], [":path", "/"], [":path", "/index.html"],
    [":scheme", "http"], [":scheme", "https"], [":status", "200"], [":status", "204"], [":status", "206"],
    [":status", "304"], [":status", "400"], [":status", "404"], [":status", "500"], ["accept-charset", ""],
    ["accept-encoding", "gzip, deflate"], ["accept-language", ""], ["accept-ranges", ""], ["accept", ""],
    ["access-control-allow-origin", ""], ["age", ""], ["allow", ""], ["authorization", ""], ["cache-control", ""],
    ["content-disposition", ""], ["content-encoding", ""], ["content-language", ""], ["content-length", ""],
    ["content-location", ""], ["content-range", ""], ["content-type", ""], ["cookie", ""], ["date", ""], ["etag", ""],
    ["expect", ""], ["expires", ""], ["from", ""], ["host", ""], ["if-match", ""], ["if-modified-since", ""],
    ["if-none-match", ""], ["if-range", ""], ["if-unmodified-since", ""], ["last-modified", ""], ["link", ""],
    ["location", ""], ["max-forwards", ""], ["proxy-authenticate", ""], ["proxy-authorization", ""], ["range", ""],
    ["referer", ""], ["refresh", ""], ["retry-after", ""], ["server", ""], ["set-cookie", ""],
    ["strict-transport-security", ""], ["transfer-encoding", ""], ["user-agent", ""], ["vary", ""], ["via", ""],
    ["www-authenticate", ""],
  ] as const
).map(([name, value]) => ({ name, value }));
