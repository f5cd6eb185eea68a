/**
 * The proof that a browser has the key of its session: a signature over a challenge that an
 * authority made. A challenge is checked by the authority's clock alone, so the browser's clock
 * does not matter. It has a MAC under a secret that all authorities share, so any of them accepts
 * it.
 */

import {
  createHmac,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
  verify,
} from "node:crypto";
import type { SessionProof } from "../../../src/gen/portico/auth/v1/sessions.js";

/** How long a challenge is valid, in milliseconds. */
export const CHALLENGE_LIFE_MS = 60_000;

/**
 * Used challenges that one authority remembers. Beyond it, proofs are refused until some expire.
 */
const MAX_USED = 100_000;
const RANDOM_BYTES = 16;
const TIME_BYTES = 8;
const MAC_BYTES = 32;
const CHALLENGE_BYTES = TIME_BYTES + RANDOM_BYTES + MAC_BYTES;
/** Length of a P-256 key in SubjectPublicKeyInfo, with an uncompressed point (RFC 5480). */
const SPKI_BYTES = 91;
/** Length of a P-256 signature as WebCrypto writes it: r and s, each of 32 bytes. */
const SIGNATURE_BYTES = 64;

/** Makes challenges, and accepts each of them once. */
export class Challenges {
  readonly #secret: Buffer;
  readonly #installation: string;
  readonly #now: () => number;
  readonly #maxUsed: number;
  /** Used challenges with the moment when they expire, in the order of their use. */
  readonly #used = new Map<string, number>();

  /** The secret and the installation's ID are the same at all authorities of an installation. */
  constructor(options: { secret: Buffer; installation: string; now: () => number; maxUsed?: number }) {
    this.#secret = Buffer.from(hkdfSync("sha256", options.secret, "", "portico session challenge", MAC_BYTES));
    this.#installation = options.installation;
    this.#now = options.now;
    this.#maxUsed = options.maxUsed ?? MAX_USED;
  }

  /** A challenge for the session, whose name is the SHA-256 of its cookie's secret. */
  create(session: Buffer): string {
    const head = Buffer.alloc(TIME_BYTES + RANDOM_BYTES);
    head.writeBigUInt64BE(BigInt(Math.floor(this.#now())));
    randomBytes(RANDOM_BYTES).copy(head, TIME_BYTES);
    return Buffer.concat([head, this.#mac(head, session)]).toString("base64url");
  }

  /** Accepts a proof by the session's key for a fresh challenge, and uses the challenge up. */
  accept(session: Buffer, key: KeyObject, { challenge, signature }: SessionProof): boolean {
    const expires = this.#expiryOf(session, challenge);
    const now = this.#now();
    if (expires === undefined || expires <= now || expires > now + CHALLENGE_LIFE_MS) return false;
    this.#forgetExpired(now);
    if (this.#used.has(challenge) || this.#used.size >= this.#maxUsed) return false;
    if (!isSignedBy(key, signedText(this.#installation, challenge), signature)) return false;
    this.#used.set(challenge, expires);
    return true;
  }

  /**
   * When the challenge expires, by the authority's clock. Undefined if it is not of this session.
   */
  #expiryOf(session: Buffer, challenge: string): number | undefined {
    const bytes = Buffer.from(challenge, "base64url");
    // One challenge has one form only: another spelling would count as unused.
    if (bytes.length !== CHALLENGE_BYTES || bytes.toString("base64url") !== challenge) return undefined;
    const head = bytes.subarray(0, -MAC_BYTES);
    if (!timingSafeEqual(bytes.subarray(-MAC_BYTES), this.#mac(head, session))) return undefined;
    return Number(head.readBigUInt64BE()) + CHALLENGE_LIFE_MS;
  }

  #mac(head: Buffer, session: Buffer): Buffer {
    return createHmac("sha256", this.#secret).update(head).update(session).digest();
  }

  #forgetExpired(now: number): void {
    for (const [challenge, expires] of this.#used) if (expires <= now) this.#used.delete(challenge);
  }
}

/** The text that the browser signs. Its first line keeps it apart from any other use of the key. */
export function signedText(installation: string, challenge: string): Buffer {
  return Buffer.from(`portico session\n${installation}\n${challenge}`);
}

/**
 * The public key of a session, from SubjectPublicKeyInfo in DER. Undefined unless it is a key of
 * ECDSA on P-256.
 */
export function sessionKey(spki: Buffer): KeyObject | undefined {
  if (spki.length !== SPKI_BYTES) return undefined;
  try {
    const key = createPublicKey({ key: spki, format: "der", type: "spki" });
    const isP256 = key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === "prime256v1";
    return isP256 ? key : undefined;
  } catch {
    return undefined;
  }
}

function isSignedBy(key: KeyObject, text: Buffer, signature: Buffer): boolean {
  return signature.length === SIGNATURE_BYTES && verify("sha256", text, { key, dsaEncoding: "ieee-p1363" }, signature);
}
