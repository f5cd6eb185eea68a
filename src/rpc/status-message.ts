/** The message of a status in the trailer `grpc-message` (PROTOCOL-HTTP2.md, "Status-Message"). */

/**
 * Maximum characters of a message that are sent, 9 KiB when encoded: a message may quote megabytes of a request, and clients fail a
 * call whose trailers are large.
 */
export const MAX_MESSAGE = 1_024;

/** What each byte of UTF-8 is sent as. */
const ENCODED = Array.from({ length: 256 }, (_, byte) => {
  const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
  return plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
});

/**
 * Percent-encodes what is not printable ASCII ("Status-Message"), and a space at either end, where no HTTP/2 field may have
 * one (RFC 9113, section 8.2.1). A long message is cut.
 */
export function encodeMessage(message: string): string {
  const sent = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message;
  if (/^(?! )[ -$&-~]*(?<! )$/.test(sent)) return sent;
  let encoded = "";
  for (const byte of Buffer.from(sent)) encoded += ENCODED[byte];
  return encoded.replace(/^ | $/g, "%20");
}

/** Text that is not encoded correctly is taken as it is, as the protocol asks. */
export function decodeMessage(encoded: string): string {
  if (!/[%\x80-\xff]/.test(encoded)) return encoded;
  const bytes = Buffer.from(
    encoded.replace(/%([0-9a-fA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  return bytes.toString();
}
