/**
 * Content codings of HTTP (RFC 9110 §8.4.1): which coding a client accepts, compression, and
 * decompression up to a maximum size. Small bodies are processed synchronously. Larger ones are
 * processed in zlib's threads, where a limited number of bytes may wait.
 */
import zlib from "node:zlib";
import { asBuffer } from "../../src/wire/buffer.js";

export type Coding = "br" | "gzip" | "zstd";

/**
 * Why a body was not decompressed: it would become larger than allowed, or is not in its declared
 * coding.
 */
export class DecompressError extends Error {
  constructor(
    readonly reason: "too large" | "malformed",
    cause?: unknown,
  ) {
    super(`The body is ${reason}`, { cause });
  }
}

/** Minimum size of a body, in bytes, that is compressed. */
export const MIN_COMPRESSED = 1024;
/**
 * Maximum size of a body, in bytes, that is compressed synchronously. A larger one would delay
 * other calls.
 */
export const MAX_AT_ONCE = 16 * 1024;
/**
 * Maximum bytes of bodies that wait for compression in zlib's threads. Beyond that, bodies are sent
 * uncompressed.
 */
const MAX_WAITING = 16 * 1024 ** 2;
/**
 * Maximum bytes that all bodies in zlib's threads together may become when decompressed. One body
 * alone may exceed it. The limit is needed beside the memory budget: when a client disconnects its
 * reservation is released, but the threads continue.
 */
const MAX_DECOMPRESSING = 256 * 1024 ** 2;
/**
 * Maximum size of a body, in bytes, that is decompressed synchronously, before and after
 * decompression.
 */
const MAX_DECOMPRESSED_AT_ONCE = 64 * 1024;
/** Bytes that zlib allocates at once for its output. */
const CHUNK = 64 * 1024;

/** What a function of node:zlib returns with the option `info`. */
interface Decompressed {
  readonly buffer: Buffer;
  /** How many bytes of the input were read. */
  readonly engine: { readonly bytesWritten: number };
}

type Options = zlib.BrotliOptions & zlib.ZlibOptions & { readonly info?: true };
type Sync<Result> = (bytes: Uint8Array, options: Options) => Result;
type Async<Result> = (bytes: Uint8Array, options: Options, done: (error: Error | null, result: Result) => void) => void;

/** The functions of node:zlib for one coding. */
interface Functions {
  readonly compress: Async<Uint8Array>;
  readonly compressSync: Sync<Uint8Array>;
  readonly decompress: Async<Decompressed>;
  readonly decompressSync: Sync<Decompressed>;
}

interface Codec extends Functions {
  readonly compression: Options;
  readonly decompression: Options;
}

const { brotliCompress, brotliCompressSync, brotliDecompress, brotliDecompressSync } = zlib;
const { gzip, gzipSync, gunzip, gunzipSync } = zlib;
/** Zstandard. Node has it since 22.15, and the types for earlier versions lack it. */
const { zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } = zlib as never as Record<string, unknown>;
const constants = zlib.constants as never as Readonly<Record<string, number>>;

/**
 * The levels are chosen for speed, not for size: docs/performance.md has measurements of other
 * levels.
 */
const CODECS: { readonly [coding in Coding]: Codec } = {
  br: {
    ...functions(brotliCompress, brotliCompressSync, brotliDecompress, brotliDecompressSync),
    compression: parameter("BROTLI_PARAM_QUALITY", 1),
    decompression: {},
  },
  gzip: { ...functions(gzip, gzipSync, gunzip, gunzipSync), compression: { level: 1 }, decompression: {} },
  zstd: {
    ...functions(zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync),
    compression: parameter("ZSTD_c_compressionLevel", 1),
    // A window of 8 MiB, the maximum that senders may use (RFC 9659).
    decompression: parameter("ZSTD_d_windowLogMax", 23),
  },
};

/** Gives the functions the types that they have with the options used here. */
function functions(compress: unknown, compressSync: unknown, decompress: unknown, decompressSync: unknown): Functions {
  return { compress, compressSync, decompress, decompressSync } as Functions;
}

function parameter(name: string, value: number): Options {
  const key = constants[name];
  return key === undefined ? {} : { params: { [key]: value } };
}

/**
 * The codings of this process, in order of preference: the first is the fastest and compresses
 * best.
 */
const CODINGS: readonly Coding[] = zstdCompress === undefined ? ["br", "gzip"] : ["zstd", "br", "gzip"];

/** The codings of this process as a list for headers. */
export const CODING_LIST = CODINGS.join(", ");

/** The coding for a name in a header; undefined for an unknown name. */
export function codingNamed(name: string): Coding | undefined {
  // A recipient should treat x-gzip as gzip (RFC 9110 §8.4.1.3).
  return name === "x-gzip" ? "gzip" : CODINGS.find((coding) => coding === name);
}

/**
 * Maximum elements of Accept-Encoding that are read: over HTTP/2 a client can send thousands of
 * them in a few bytes.
 */
const MAX_ELEMENTS = 64;

/** An element of Accept-Encoding, without surrounding whitespace: a name and its weight. */
const ELEMENT = /^([^;\s]+)[ \t]*(?:;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i;

/**
 * The coding in which a response is sent (RFC 9110 §12.5.3); undefined for none. Malformed elements
 * are ignored.
 * @param acceptEncoding the header in which clients name the codings that they accept
 * @param codings the codings that the response can have, best first
 */
export function preferredCoding(acceptEncoding: string, codings: readonly Coding[] = CODINGS): Coding | undefined {
  const weights = new Map<string, number>();
  for (const element of acceptEncoding.split(",", MAX_ELEMENTS)) {
    const [, name, weight = "1"] = ELEMENT.exec(element.trim()) ?? [];
    if (name !== undefined) weights.set(name.toLowerCase(), Number(weight));
  }
  const others = weights.get("*") ?? 0;
  let best: Coding | undefined;
  // Where `identity` is not named, any accepted coding is better than none.
  let bestWeight = weights.get("identity") ?? 0;
  for (const coding of codings) {
    const weight = weights.get(coding) ?? (coding === "gzip" ? weights.get("x-gzip") : undefined) ?? others;
    const isBetter = best === undefined ? weight >= bestWeight && weight > 0 : weight > bestWeight;
    if (!isBetter) continue;
    best = coding;
    bestWeight = weight;
  }
  return best;
}

let waiting = 0;

/**
 * Compresses a body.
 * @returns undefined where too many bytes wait for compression, or the body would not become
 * smaller
 */
export function compress(
  coding: Coding,
  body: string | Uint8Array,
): Uint8Array | undefined | Promise<Uint8Array | undefined> {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  if (bytes.length <= MAX_AT_ONCE) return compressAtOnce(coding, bytes);
  if (waiting > 0 && waiting + bytes.length > MAX_WAITING) return undefined;
  waiting += bytes.length;
  return new Promise((resolve, reject) => {
    const { compress, compression } = CODECS[coding];
    compress(bytes, { ...compression, chunkSize: CHUNK }, (error, compressed) => {
      waiting -= bytes.length;
      if (error) reject(error);
      else resolve(smaller(compressed, bytes));
    });
  });
}

/**
 * Compresses a body synchronously.
 * @returns undefined where the body would not become smaller
 */
export function compressAtOnce(coding: Coding, bytes: Uint8Array): Uint8Array | undefined {
  const { compressSync, compression } = CODECS[coding];
  const chunkSize = Math.max(MIN_COMPRESSED, Math.min(bytes.length, CHUNK));
  return smaller(compressSync(bytes, { ...compression, chunkSize }), bytes);
}

function smaller(compressed: Uint8Array, bytes: Uint8Array): Uint8Array | undefined {
  return compressed.length < bytes.length ? compressed : undefined;
}

/**
 * Decompresses a body.
 * @param tryReserve reserves memory for the result, and replaces the previous reservation. Called
 * after a small body was decompressed, but before a larger one is
 * @returns undefined where there is no memory
 * @throws {DecompressError} (or rejects with it)
 */
export function decompress(
  coding: Coding,
  body: Uint8Array,
  maxBytes: number,
  tryReserve: (bytes: number) => boolean,
): Uint8Array | undefined | Promise<Uint8Array | undefined> {
  if (body.length <= MAX_DECOMPRESSED_AT_ONCE) {
    try {
      const bytes = decompressAtOnce(coding, body, Math.min(maxBytes, MAX_DECOMPRESSED_AT_ONCE));
      return tryReserve(bytes.length) ? bytes : undefined;
    } catch (error) {
      const isTooLarge = (error as DecompressError).reason === "too large";
      if (!isTooLarge || maxBytes <= MAX_DECOMPRESSED_AT_ONCE) throw error;
    }
  }
  if (decompressing > 0 && decompressing + maxBytes > MAX_DECOMPRESSING) return undefined;
  if (!tryReserve(maxBytes)) return undefined;
  return decompressLater(coding, body, maxBytes).then((bytes) => {
    tryReserve(bytes.length);
    return bytes;
  });
}

/**
 * Decompresses a body synchronously.
 * @throws {DecompressError}
 */
export function decompressAtOnce(coding: Coding, body: Uint8Array, maxBytes: number): Uint8Array {
  const { decompressSync, decompression } = CODECS[coding];
  try {
    return checked(decompressSync(body, { ...decompression, maxOutputLength: maxBytes, info: true }), body);
  } catch (error) {
    throw toDecompressError(error);
  }
}

let decompressing = 0;

function decompressLater(coding: Coding, body: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const { decompress, decompression } = CODECS[coding];
  const options: Options = { ...decompression, maxOutputLength: maxBytes, chunkSize: CHUNK, info: true };
  decompressing += maxBytes;
  return new Promise((resolve, reject) => {
    decompress(body, options, (error, decompressed) => {
      decompressing -= maxBytes;
      try {
        if (error) throw error;
        resolve(checked(decompressed, body));
      } catch (thrown) {
        reject(toDecompressError(thrown));
      }
    });
  });
}

/** Rejects bytes after the end of the compressed data. zlib does not read these. */
function checked({ buffer, engine }: Decompressed, body: Uint8Array): Uint8Array {
  if (engine.bytesWritten !== body.length) throw new DecompressError("malformed");
  return asBuffer(buffer);
}

function toDecompressError(thrown: unknown): DecompressError {
  if (thrown instanceof DecompressError) return thrown;
  const isTooLarge = (thrown as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
  return new DecompressError(isTooLarge ? "too large" : "malformed", thrown);
}
