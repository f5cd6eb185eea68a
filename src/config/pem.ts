/** What is wrong with a file of certificates or a key in PEM (RFC 7468), in words. */
import { X509Certificate } from "node:crypto";

/** The beginning of a certificate (RFC 7468 §5), also in the older forms that OpenSSL reads. */
const CERTIFICATE = /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;
/** An encrypted key (RFC 7468 §11), also in the older form (RFC 1421 §4.6.1.1). */
const ENCRYPTED = /^(?:-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: *4, *ENCRYPTED)/m;

/** The certificates of a file, each in PEM. */
export function certificatesIn(pem: Buffer): Buffer[] {
  const parts = pem.toString("latin1").split(/(?=-----BEGIN )/);
  return parts.filter((part) => CERTIFICATE.test(part)).map((part) => Buffer.from(part, "latin1"));
}

/**
 * The fault of a file of certificates; undefined if it has none. Reads each of them, because
 * OpenSSL leaves out those that it cannot read, and so would trust fewer authorities than the file
 * names.
 */
export function certificatesFault(pem: Buffer): string | undefined {
  const certificates = certificatesIn(pem);
  if (certificates.length === 0) return "has no PEM certificate";
  for (const [index, certificate] of certificates.entries()) {
    try {
      new X509Certificate(certificate);
    } catch (error) {
      const which = certificates.length === 1 ? "" : `${index + 1} of ${certificates.length}`;
      return `has a certificate${which && `, ${which},`} that cannot be read: ${(error as Error).message}`;
    }
  }
  return undefined;
}

/** The fault of a file with a key that OpenSSL would not name; undefined if it has none. */
export function keyFault(pem: Buffer): string | undefined {
  if (!ENCRYPTED.test(pem.toString("latin1"))) return undefined;
  return "is an encrypted key, and there is no passphrase: decrypt it with openssl pkey, and let only this user read it";
}
