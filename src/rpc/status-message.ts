/** The status message in the trailer `grpc-message` (PROTOCOL-HTTP2.md, "Status-Message"). */

/**
 * Maximum characters of a message that are sent; at most 9 KiB when encoded. A message may quote
 * megabytes of a request, and clients fail a call that has large trailers.
 */
export const MAX_MESSAGE = 1_024;

/** The encoded form of each byte of UTF-8. */
const ENCODED = Array.from({ length: 256 }, (_, byte) => {
  const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
  return plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
});

/**
 * Percent-encodes everything that is not printable ASCII ("Status-Message"). It also encodes a
 * space at either end, because an HTTP/2 field value may not start or end with one (RFC 9113,
 * section 8.2.1). A long message is truncated.
 */
export function encodeMessage(message: string): string {
  const sent = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message;
  if (/^(?! )[ -$&-~]*(?<! )$/.test(sent)) return sent;
  let encoded = "";
  for (const byte of Buffer.from(sent)) encoded += ENCODED[byte];
  return encoded.replace(/^ | $/g, "%20");
}

/**
 * Decodes a status message. Text that is not encoded correctly is returned as it is, as the
 * protocol demands.
 */
export function decodeMessage(encoded: string): string {
  if (!/[%\x80-\xff]/.test(encoded)) return encoded;
  const bytes = Buffer.from(
    encoded.replace(/%([0-9a-fA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  return bytes.toString();
}
