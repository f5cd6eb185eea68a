/**
 * HMAC-SHA256 (RFC 2104) of short texts. A call may need it several times. It is computed as two
 * hashes by `hash`, because `createHmac` allocates an object outside the JavaScript heap each time,
 * which the garbage collector must finalize.
 */
import { hash } from "node:crypto";

/** Bytes of a block of SHA-256. */
const BLOCK = 64;
const HASH = 32;
/**
 * The inner and the outer message of RFC 2104: a block made of the key, followed by what is hashed.
 */
interface Messages {
  readonly inner: Uint8Array;
  readonly outer: Buffer;
}

const known = new WeakMap<Uint8Array, Messages>();
/** Buffer for inner messages; a longer message gets its own buffer. */
const scratch = Buffer.alloc(4 * 1024);
/**
 * Views of the first bytes of `scratch`, by length: making a view takes about as long as hashing
 * it.
 */
const views: (Buffer | undefined)[] = new Array(scratch.length + 1).fill(undefined);

/**
 * The HMAC of a text in UTF-8.
 * @param key of at most 64 bytes, which do not change
 * @returns in base64url, 43 characters
 */
export function hmacSha256(text: string, key: Uint8Array): string {
  const { inner, outer } = messagesOf(key);
  const message = messageOf(BLOCK + Buffer.byteLength(text));
  message.set(inner);
  message.utf8Write(text, BLOCK);
  outer.latin1Write(hash("sha256", message, "binary"), BLOCK);
  return hash("sha256", outer, "base64url");
}

/** @returns a buffer of that length, valid until the next call */
function messageOf(length: number): Buffer {
  if (length > scratch.length) return Buffer.allocUnsafe(length);
  const found = views[length];
  if (found !== undefined) return found;
  const view = scratch.subarray(0, length);
  views[length] = view;
  return view;
}

function messagesOf(key: Uint8Array): Messages {
  const found = known.get(key);
  if (found !== undefined) return found;
  if (key.length > BLOCK) throw new RangeError(`a key of HMAC-SHA256 has at most ${BLOCK} bytes`);
  const blockOf = (pad: number) => Uint8Array.from({ length: BLOCK }, (_, at) => (key[at] ?? 0) ^ pad);
  const messages = { inner: blockOf(0x36), outer: Buffer.concat([blockOf(0x5c)], BLOCK + HASH) };
  known.set(key, messages);
  return messages;
}
