/**
 * Decompresses messages (gRPC's compression.md): small ones at once, others in zlib's threads, few
 * at a time. A message of a few kilobytes may expand to megabytes, and decompressing it at once
 * would block the event loop for all other calls.
 */
import zlib from "node:zlib";
import { Code, StatusError } from "../../errors.js";
import { largerThan } from "../status.js";

export type Compression = "gzip" | "deflate" | "br";

/** Maximum bytes of a message that is decompressed at once. */
const MAX_AT_ONCE = 64 * 1024;
/**
 * Messages that zlib's threads decompress at the same time. File access and password hashing need
 * threads of the same pool.
 */
const MAX_RUNNING = 2;
/**
 * Maximum bytes of messages that wait for a thread, and the overhead that is counted for each of
 * them.
 */
const MAX_WAITING = 64 * 2 ** 20;
const WAITING_COST = 1_024;
/** Bytes that zlib allocates at once for its output. */
const CHUNK = 64 * 1024;

type Later = (
  message: Uint8Array,
  options: { readonly maxOutputLength: number; readonly chunkSize: number },
  done: (error: Error | null, result: Uint8Array) => void,
) => void;

const NOW = { gzip: zlib.gunzipSync, deflate: zlib.inflateSync, br: zlib.brotliDecompressSync } as const;
const LATER: { readonly [compression in Compression]: Later } = {
  gzip: zlib.gunzip,
  deflate: zlib.inflate,
  br: zlib.brotliDecompress,
};

interface Task {
  readonly compression: Compression;
  readonly message: Uint8Array;
  readonly maxBytes: number;
  readonly onResult: (result: Uint8Array | StatusError) => void;
}

const waiting: Task[] = [];
let waitingBytes = 0;
let running = 0;

/**
 * @param maxBytes maximum bytes of the decompressed message
 * @param onResult called later if the message is not small; without it every message is
 * decompressed at once
 * @returns undefined when `onResult` will be called
 * @throws {StatusError} RESOURCE_EXHAUSTED when the message is too large, or too many messages
 * wait; INTERNAL when the message is not compressed in this way
 */
export function decompress(
  compression: Compression,
  message: Uint8Array,
  maxBytes: number,
  onResult?: Task["onResult"],
): Uint8Array | undefined {
  const maxAtOnce = onResult === undefined ? maxBytes : Math.min(maxBytes, MAX_AT_ONCE);
  try {
    return NOW[compression](message, { maxOutputLength: maxAtOnce });
  } catch (cause) {
    if (onResult === undefined || maxAtOnce === maxBytes || !isTooLarge(cause)) {
      throw toStatusError(cause, compression, maxBytes);
    }
  }
  const cost = message.length + WAITING_COST;
  if (waitingBytes + cost > MAX_WAITING) {
    throw new StatusError(Code.RESOURCE_EXHAUSTED, "too many messages wait to be decompressed; try again");
  }
  waitingBytes += cost;
  waiting.push({ compression, message, maxBytes, onResult });
  runNext();
  return undefined;
}

function runNext(): void {
  while (running < MAX_RUNNING) {
    const task = waiting.shift();
    if (task === undefined) return;
    const { compression, message, maxBytes, onResult } = task;
    waitingBytes -= message.length + WAITING_COST;
    running++;
    LATER[compression](message, { maxOutputLength: maxBytes, chunkSize: CHUNK }, (error, result) => {
      running--;
      runNext();
      onResult(error === null ? result : toStatusError(error, compression, maxBytes));
    });
  }
}

/** A message is larger than this end accepts. */
export class MessageTooLargeError extends StatusError {
  constructor(maxBytes: number) {
    super(Code.RESOURCE_EXHAUSTED, largerThan(maxBytes));
  }
}

function isTooLarge(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
}

function toStatusError(cause: unknown, compression: Compression, maxBytes: number): StatusError {
  if (isTooLarge(cause)) return new MessageTooLargeError(maxBytes);
  return new StatusError(Code.INTERNAL, `a message is not ${compression}`, { cause });
}
