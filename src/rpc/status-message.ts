/** The message of a status in the trailer `grpc-message` (PROTOCOL-HTTP2.md, "Status-Message"). */

/**
 * Percent-encodes what is not printable ASCII ("Status-Message"), and a space at either end, where no HTTP/2 field may have
 * one (RFC 9113, section 8.2.1).
 */
export function encodeMessage(message: string): string {
  if (/^(?! )[ -$&-~]*(?<! )$/.test(message)) return message;
  const bytes = Buffer.from(message);
  let encoded = "";
  for (const [index, byte] of bytes.entries()) {
    const isInside = index > 0 && index < bytes.length - 1;
    const plain = byte >= (isInside ? 0x20 : 0x21) && byte <= 0x7e && byte !== 0x25;
    encoded += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
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
