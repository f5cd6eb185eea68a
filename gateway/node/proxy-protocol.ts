/**
 * The header of the PROXY protocol, versions 1 and 2
 * (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt). With it a proxy that passes on
 * bytes names the client of a connection. The header comes before everything else, also before TLS.
 */
import { isIP } from "node:net";
import { canonicalAddress } from "../../src/address/client-address.js";

/** The beginning of a connection. */
export interface ProxyHeader {
  /** Bytes of the PROXY header; 0 where there is none. */
  readonly length: number;
  /**
   * The client's address; undefined where the header names none: UNKNOWN, LOCAL, AF_UNSPEC,
   * AF_UNIX.
   */
  readonly source: string | undefined;
}

const NO_HEADER: ProxyHeader = { length: 0, source: undefined };

const SIGNATURE_1 = Buffer.from("PROXY ");
const SIGNATURE_2 = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");

/** Maximum size of a header of version 1 in bytes, including the end of its line (section 2.1). */
const MAX_LINE = 107;
/** Bytes of version 2 before the addresses: signature, version and command, family, length. */
const FIXED = 16;
/**
 * Maximum size of an accepted header of version 2 in bytes. It suffices for the addresses and the
 * data that proxies usually add, including a certificate.
 */
const MAX_HEADER = 4096;

/** Whether the bytes begin with a PROXY header; undefined while more bytes are needed to decide. */
export function beginsProxyHeader(bytes: Buffer): boolean | undefined {
  for (const signature of [SIGNATURE_1, SIGNATURE_2]) {
    const length = Math.min(bytes.length, signature.length);
    if (signature.compare(bytes, 0, length, 0, length) === 0) return length === signature.length ? true : undefined;
  }
  return false;
}

/**
 * @param bytes all bytes that have arrived
 * @returns undefined while more must come
 * @throws {SyntaxError} the defect of the header
 */
export function readBeginning(bytes: Buffer): ProxyHeader | undefined {
  const begins = beginsProxyHeader(bytes);
  if (begins !== true) return begins === false ? NO_HEADER : undefined;
  return bytes[0] === SIGNATURE_1[0] ? readLine(bytes) : readBinary(bytes);
}

const LINE = /^PROXY TCP([46]) (\S+) (\S+) (0|[1-9]\d{0,4}) (0|[1-9]\d{0,4})$/;

function readLine(bytes: Buffer): ProxyHeader | undefined {
  const end = bytes.subarray(0, MAX_LINE).indexOf("\r\n");
  if (end < 0) {
    if (bytes.length < MAX_LINE) return undefined;
    throw new SyntaxError(`is longer than ${MAX_LINE} bytes`);
  }
  const line = bytes.latin1Slice(0, end);
  const length = end + 2;
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { length, source: undefined };
  const [, family, source = "", destination = "", ...ports] = LINE.exec(line) ?? [];
  const fits = (address: string): boolean => isIP(address) === Number(family) && !address.includes("%");
  if (!fits(source) || !fits(destination) || ports.some((port) => Number(port) > 65_535)) {
    throw new SyntaxError("is malformed: it must be PROXY TCP4, TCP6 or UNKNOWN, two addresses and two ports");
  }
  return { length, source: canonicalAddress(source) };
}

const Command = { LOCAL: 0, PROXY: 1 } as const;

/** Bytes of the addresses and ports, by address family (section 2.2). */
const ADDRESS_BYTES: readonly number[] = [0, 12, 36, 216];
const IPV4 = 1;
const IPV6 = 2;
/** Transports below this number exist: unspecified, stream and datagram. */
const TRANSPORTS = 3;

function readBinary(bytes: Buffer): ProxyHeader | undefined {
  if (bytes.length < FIXED) return undefined;
  const [versionAndCommand, familyAndTransport] = bytes.subarray(SIGNATURE_2.length) as unknown as [number, number];
  const length = FIXED + bytes.readUInt16BE(FIXED - 2);
  if (versionAndCommand >> 4 !== 2) throw new SyntaxError("is malformed: its version is not 2");
  if (length > MAX_HEADER) throw new SyntaxError(`has ${length} bytes, more than ${MAX_HEADER}`);
  if (bytes.length < length) return undefined;
  const command = versionAndCommand & 0xf;
  // With the command LOCAL the addresses must be ignored: the proxy has opened the connection for
  // itself.
  if (command === Command.LOCAL) return { length, source: undefined };
  if (command !== Command.PROXY) throw new SyntaxError(`is malformed: it has the unknown command ${command}`);
  const family = familyAndTransport >> 4;
  const addressBytes = ADDRESS_BYTES[family];
  if (addressBytes === undefined || (familyAndTransport & 0xf) >= TRANSPORTS) {
    throw new SyntaxError(`is malformed: it has the unknown address family ${familyAndTransport}`);
  }
  if (length < FIXED + addressBytes) throw new SyntaxError("is malformed: it is too short for its addresses");
  if (family !== 0) checkVectors(bytes.subarray(FIXED + addressBytes, length));
  return { length, source: sourceOf(family, bytes) };
}

/**
 * Checks the list of additional fields (type, length, value). They are not used, but they must fill
 * the header exactly (section 2.2).
 */
function checkVectors(bytes: Buffer): void {
  let at = 0;
  while (at + 3 <= bytes.length) at += 3 + bytes.readUInt16BE(at + 1);
  if (at !== bytes.length) throw new SyntaxError("is malformed: what follows its addresses has a wrong length");
}

function sourceOf(family: number, bytes: Buffer): string | undefined {
  if (family === IPV4) return bytes.subarray(FIXED, FIXED + 4).join(".");
  if (family !== IPV6) return undefined;
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(FIXED + 2 * index).toString(16));
  return canonicalAddress(groups.join(":"));
}
