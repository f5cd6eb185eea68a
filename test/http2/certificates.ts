/**
 * Creates certificates for a test, so the repository contains no key: X.509 version 3 (RFC 5280,
 * section 4.1) with ECDSA over P-256, encoded as DER by hand.
 */
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** In PEM. */
export interface Certified {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface Authority extends Certified {
  /**
   * @param validity the first and the last moment of its validity; default yesterday and tomorrow
   * @param names that a client may ask for; default `name`
   */
  issue(name: string, validity?: readonly [Date, Date], names?: readonly string[]): Certified;
}

const der = (tag: number, ...content: Uint8Array[]): Buffer => {
  const bytes = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(bytes.length)]), bytes]);
};

/** The length in as few bytes as possible, as DER demands and Go checks (X.690, section 10.1). */
function lengthOf(size: number): readonly number[] {
  if (size < 128) return [size];
  return size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
}

const sequence = (...content: Uint8Array[]): Buffer => der(0x30, ...content);
const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes);
const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.from([0]), bytes);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const time = (date: Date): Buffer =>
  der(
    0x17,
    Buffer.from(
      `${date
        .toISOString()
        .replace(/[-T:]|\.\d+/g, "")
        .slice(2)}`,
    ),
  );
const name = (text: string): Buffer => sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(text)))));

const ECDSA_SHA256 = sequence(oid("2a8648ce3d040302"));
const BASIC_CONSTRAINTS = oid("551d13");
const ALTERNATIVE_NAMES = oid("551d11");
const TRUE = der(0x01, Buffer.from([255]));

const DAY = 86_400_000;

function pem(bytes: Buffer): Buffer {
  // Without an empty line at the end: OpenSSL would take all before it for headers.
  const lines = bytes
    .toString("base64")
    .match(/.{1,64}/g)!
    .join("\n");
  return Buffer.from(`-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`);
}

function certificate(
  subject: string,
  publicKey: KeyObject,
  issuer: string,
  signer: KeyObject,
  /** The names that a client may ask for; undefined for an authority. */
  alternatives: readonly string[] | undefined,
  validity = [new Date(Date.now() - DAY), new Date(Date.now() + DAY)] as readonly [Date, Date],
): Buffer {
  const spki = publicKey.export({ type: "spki", format: "der" });
  const serial = createHash("sha256").update(spki).digest().subarray(0, 8);
  serial[0] = ((serial[0] as number) & 0x7f) | 1;
  const names = (alternatives ?? []).map((alternative) => der(0x82, Buffer.from(alternative)));
  const extension =
    alternatives === undefined
      ? sequence(BASIC_CONSTRAINTS, TRUE, octets(sequence(TRUE)))
      : sequence(ALTERNATIVE_NAMES, octets(sequence(...names, der(0x87, Buffer.from([127, 0, 0, 1])))));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ECDSA_SHA256,
    name(issuer),
    sequence(...validity.map(time)),
    name(subject),
    spki,
    der(0xa3, sequence(extension)),
  );
  return pem(sequence(toBeSigned, ECDSA_SHA256, bits(sign("sha256", toBeSigned, signer))));
}

const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });
const exported = (key: KeyObject): Buffer => Buffer.from(key.export({ type: "pkcs8", format: "pem" }));

export function createAuthority(issuer: string): Authority {
  const own = newKeys();
  return {
    cert: certificate(issuer, own.publicKey, issuer, own.privateKey, undefined),
    key: exported(own.privateKey),
    issue(subject, validity, names = [subject]) {
      const keys = newKeys();
      return {
        cert: certificate(subject, keys.publicKey, issuer, own.privateKey, names, validity),
        key: exported(keys.privateKey),
      };
    },
  };
}
