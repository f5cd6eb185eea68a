/**
 * HMAC-SHA256 (RFC 2104) of short texts, which a call may need several times. It is made of two hashes by `hash`, because
 * `createHmac` makes an object outside of the JavaScript heap each time, which the garbage collector must finish.
 */
import { hash } from "node:crypto";

/** Bytes of a block of SHA-256. */
const BLOCK = 64;
const HASH = 32;
/** The inner and the outer message of RFC 2104: a block made of the key, and then what is hashed. */
interface Messages {
  readonly inner: Uint8Array;
  readonly outer: Buffer;
}

const known = new WeakMap<Uint8Array, Messages>();
/** Where inner messages are put together; longer ones get memory of their own. */
const scratch = Buffer.alloc(8 * 1024);
const result = Buffer.alloc(HASH);

/**
 * The HMAC of a text in UTF-8.
 * @param key of at most 64 bytes, which do not change
 * @returns a buffer that is good until the next call
 */
export function hmacSha256(text: string, key: Uint8Array): Buffer {
  const { inner, outer } = messagesOf(key);
  const length = BLOCK + Buffer.byteLength(text);
  const message = length <= scratch.length ? scratch : Buffer.allocUnsafe(length);
  message.set(inner);
  message.write(text, BLOCK);
  outer.write(hash("sha256", message.subarray(0, length), "binary"), BLOCK, "latin1");
  result.write(hash("sha256", outer, "binary"), "latin1");
  return result;
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
