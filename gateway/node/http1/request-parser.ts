/**
 * Parses requests from the bytes of one connection, by llhttp. It also applies the limits that Node
 * adds to llhttp: bytes and number of the headers, including trailers, and bytes of chunk
 * extensions. A body with Content-Length does not pass through the parser.
 */
import { HttpError } from "../../http/errors.js";
import {
  INVALID_VERSION,
  MAX_INPUT,
  OK,
  PAUSED,
  PAUSED_H2_UPGRADE,
  ParserMemory,
  SKIP_BODY,
  USER_ERROR,
} from "./llhttp.js";
import { Http1RequestHead } from "./request-head.js";

export interface ParserLimits {
  /** Maximum bytes of a request's target, header names and values. */
  readonly maxHeaders: number;
  readonly maxHeaderCount: number;
}

/** Bytes of a head that the parser gets at once: most heads are shorter. */
const HEAD_INPUT = 4096;

/** Maximum bytes of chunk extensions in a body, as in Node. */
const MAX_CHUNK_EXTENSIONS = 16 * 1024;
/**
 * Maximum bytes between the contents of two chunks: the line end before, a size of 16 digits, and
 * its line end.
 */
const CHUNK_OVERHEAD = 20;

const HEADERS_TOO_LARGE = new HttpError(431, "The headers are too large");
const EXTENSIONS_TOO_LARGE = new HttpError(413, "The chunk extensions are too large");
/** The error for any other version of HTTP, and for a malformed one. */
export const OTHER_VERSION = new HttpError(505, "The version of HTTP must be 1.0 or 1.1");

/** How far a call of `parse` got. */
export const ParseOutcome = {
  /** All bytes have been read, and the request has not ended. */
  MORE: 0,
  /** `head` has been read; a body may follow. */
  HEAD: 1,
  /** A chunked body has ended. */
  END: 2,
  /** The bytes are malformed; `error` has the reason. */
  FAULT: 3,
  /** The preface of HTTP/2 has been read (RFC 9113 §3.4). */
  HTTP2: 4,
} as const;
export type ParseOutcome = (typeof ParseOutcome)[keyof typeof ParseOutcome];

/**
 * Kinds of spans. The parser remembers the kind of the last span, because the next one may continue
 * it.
 */
const NOTHING = 0;
const URL = 1;
const FIELD = 2;
const VALUE = 3;

/**
 * Positions of the parts of a head in its bytes: start and end of the target, then of the name and
 * the value of each header. All connections share this array. For a head that has not arrived
 * completely, its parser stores a copy.
 */
let spans = new Int32Array(2 + 4 * 128);

const memory = new ParserMemory({ onBegin, onUrl, onHeaderField, onHeaderValue, onHeadersComplete, onBody });
/** The parser that is running. */
let reading: RequestParser;

function onBegin(): void {
  reading.onBegin();
}
function onUrl(at: number, length: number): number {
  return reading.onUrl(at, length);
}
function onHeaderField(at: number, length: number): number {
  return reading.onHeaderField(at, length);
}
function onHeaderValue(at: number, length: number): number {
  return reading.onHeaderValue(at, length);
}
function onHeadersComplete(parser: number, upgrade: boolean, keepAlive: boolean): number {
  return reading.onHeadersComplete(parser, upgrade, keepAlive);
}
function onBody(at: number, length: number): void {
  reading.onBody(at, length);
}

export class RequestParser {
  /** The position in the chunk up to which bytes have been read. */
  end = 0;
  head: Http1RequestHead | undefined;
  error: HttpError | undefined;
  /** Parts of a chunked body, since the caller last took them. */
  chunks: Buffer[] = [];
  readonly #limits: ParserLimits;
  /** Address of llhttp's state; 0 between two requests. */
  #state = 0;
  #hasBegun = false;
  #inBody = false;
  /**
   * The bytes of a head that arrived with earlier chunks, from the target on, and the positions of
   * its parts.
   */
  #partial: Buffer | undefined;
  #partialSpans: Int32Array | undefined;
  /**
   * The bytes that `spans` refers to, and the difference between a position in these bytes and an
   * address in llhttp's memory.
   */
  #source: Buffer | undefined;
  #base = 0;
  #last: number = NOTHING;
  #headers = 0;
  #headerBytes = 0;
  /** Bytes of a chunked body besides its content, minus the overhead that each chunk may have. */
  #extensionBytes = 0;

  constructor(limits: ParserLimits) {
    this.#limits = limits;
    // One additional header shows that there are too many.
    const places = 2 + 4 * (limits.maxHeaderCount + 1);
    if (spans.length < places) spans = new Int32Array(places);
  }

  /** Whether a request has begun and not ended. */
  get isInRequest(): boolean {
    return this.#hasBegun;
  }

  /**
   * Parses a chunk from `from` on, up to the end of a head or of a chunked body. Sets `end` to the
   * position where it stopped.
   */
  parse(chunk: Buffer, from: number): ParseOutcome {
    if (this.#state === 0) this.#begin();
    this.end = from;
    while (this.end < chunk.length) {
      const outcome = this.#execute(chunk, Math.min(chunk.length, this.end + (this.#inBody ? MAX_INPUT : HEAD_INPUT)));
      if (outcome !== ParseOutcome.MORE) return outcome;
    }
    // Only empty lines have arrived. They may stand before a request, and are skipped.
    if (!this.#hasBegun) this.release();
    return ParseOutcome.MORE;
  }

  /** Forgets the current request: it has ended, or must not be read any further. */
  release(): void {
    if (this.#state === 0) return;
    memory.release(this.#state);
    this.#state = 0;
    this.#hasBegun = false;
    this.#partial = undefined;
    this.#partialSpans = undefined;
    this.#source = undefined;
  }

  #begin(): void {
    this.#state = memory.acquire();
    this.#inBody = false;
    this.#last = NOTHING;
    this.#headers = 0;
    this.#headerBytes = 0;
    this.#extensionBytes = 0;
  }

  #execute(chunk: Buffer, to: number): ParseOutcome {
    const from = this.end;
    const wasInBody = this.#inBody;
    reading = this;
    if (!wasInBody) this.#locate(chunk, from, to);
    else {
      this.#source = chunk;
      this.#base = from - memory.input;
    }
    const chunks = this.chunks.length;
    const headerBytes = this.#headerBytes;
    const result = memory.execute(this.#state, chunk, from, to);
    this.end = result === OK ? to : from + memory.llhttp.llhttp_get_error_pos(this.#state) - memory.input;
    const isTrailer = result === USER_ERROR;
    const beside = this.end - from - (this.#headerBytes - headerBytes);
    if (wasInBody && !isTrailer && !this.#countExtensions(beside, chunks)) return this.#refuse(EXTENSIONS_TOO_LARGE);
    if (result === OK) return wasInBody || this.#keepPartial(to) ? ParseOutcome.MORE : this.#refuse(HEADERS_TOO_LARGE);
    if (result === PAUSED) return this.#pause(wasInBody);
    if (result === PAUSED_H2_UPGRADE && this.#isPreface()) return ParseOutcome.HTTP2;
    return this.#refuse(this.#toHttpError(result));
  }

  /**
   * Sets the positions so that they refer to this chunk, or to the earlier bytes and this chunk
   * together.
   */
  #locate(chunk: Buffer, from: number, to: number): void {
    const partial = this.#partial;
    if (partial === undefined) {
      this.#source = chunk;
      this.#base = from - memory.input;
      return;
    }
    this.#source = Buffer.concat([partial, chunk.subarray(from, to)]);
    this.#base = partial.length - memory.input;
    spans.set(this.#partialSpans as Int32Array);
  }

  /**
   * Stores the part of a head that has arrived.
   * @returns false where it is too long. Spaces count here, but not towards the limit of the
   * headers
   */
  #keepPartial(to: number): boolean {
    if (this.#last === NOTHING) return true;
    const start = spans[0] as number;
    const used = spans.slice(0, 2 + 4 * Math.min(this.#headers, this.#limits.maxHeaderCount + 1));
    for (let place = 0; place < used.length; place++) used[place] = (used[place] as number) - start;
    this.#partialSpans = used;
    const source = this.#source as Buffer;
    this.#partial = this.#partial === undefined ? Buffer.from(source.subarray(start, to)) : source;
    this.#source = undefined;
    return this.#partial.length <= 2 * this.#limits.maxHeaders;
  }

  /**
   * llhttp has paused: at the end of the headers, whether or not a chunked body follows, or at the
   * end of the request.
   */
  #pause(wasInBody: boolean): ParseOutcome {
    this.#source = undefined;
    if (wasInBody) {
      this.release();
      return ParseOutcome.END;
    }
    this.#partial = undefined;
    this.#partialSpans = undefined;
    if (this.#inBody) memory.llhttp.llhttp_resume(this.#state);
    else this.release();
    return ParseOutcome.HEAD;
  }

  /**
   * Counts the bytes of a chunked body besides content and trailers, because llhttp's callbacks do
   * not report extensions.
   */
  #countExtensions(bytes: number, chunksBefore: number): boolean {
    let beside = bytes;
    for (let at = chunksBefore; at < this.chunks.length; at++) beside -= (this.chunks[at] as Buffer).length;
    const chunks = this.chunks.length - chunksBefore + 1;
    this.#extensionBytes += Math.max(0, beside - chunks * CHUNK_OVERHEAD);
    return this.#extensionBytes <= MAX_CHUNK_EXTENSIONS;
  }

  #refuse(error: HttpError): ParseOutcome {
    this.error = error;
    this.release();
    return ParseOutcome.FAULT;
  }

  #isPreface(): boolean {
    const target = (this.#source as Buffer).latin1Slice(spans[0] as number, spans[1] as number);
    return target === "*" && memory.llhttp.llhttp_get_http_major(this.#state) === 2;
  }

  #toHttpError(result: number): HttpError {
    if (result === USER_ERROR) return this.error ?? HEADERS_TOO_LARGE;
    if (result === INVALID_VERSION || result === PAUSED_H2_UPGRADE) return OTHER_VERSION;
    const reason = memory.reason(this.#state);
    return new HttpError(400, `The request is not well-formed HTTP${reason && `: ${reason}`}`);
  }

  onBegin(): void {
    this.#hasBegun = true;
  }

  onUrl(at: number, length: number): number {
    const start = at + this.#base;
    if (this.#last !== URL) {
      this.#last = URL;
      spans[0] = start;
    }
    spans[1] = start + length;
    return this.#count(length);
  }

  onHeaderField(at: number, length: number): number {
    if (this.#last !== FIELD) {
      this.#last = FIELD;
      this.#headers++;
      if (this.#inBody) return this.#count(length);
      if (this.#headers <= this.#limits.maxHeaderCount + 1) spans[4 * this.#headers - 2] = at + this.#base;
    }
    if (!this.#inBody && this.#headers <= this.#limits.maxHeaderCount + 1) {
      spans[4 * this.#headers - 1] = at + this.#base + length;
    }
    return this.#count(length);
  }

  onHeaderValue(at: number, length: number): number {
    if (!this.#inBody && this.#headers <= this.#limits.maxHeaderCount + 1) {
      const start = at + this.#base;
      if (this.#last !== VALUE) spans[4 * this.#headers] = start;
      spans[4 * this.#headers + 1] = start + length;
    }
    this.#last = VALUE;
    return this.#count(length);
  }

  /**
   * Counts as Node does (https://nodejs.org/api/http.html#httpmaxheadersize). Here trailers count
   * too.
   */
  #count(length: number): number {
    this.#headerBytes += length;
    const { maxHeaders, maxHeaderCount } = this.#limits;
    const isTooLarge = this.#headerBytes >= maxHeaders || (this.#inBody && this.#headers > maxHeaderCount);
    return isTooLarge ? USER_ERROR : OK;
  }

  onHeadersComplete(state: number, upgrade: boolean, keepAlive: boolean): number {
    const { llhttp } = memory;
    const known = Math.min(this.#headers, this.#limits.maxHeaderCount + 1);
    this.head = new Http1RequestHead(this.#source as Buffer, spans, known, {
      method: memory.method(llhttp.llhttp_get_method(state)),
      major: llhttp.llhttp_get_http_major(state),
      minor: llhttp.llhttp_get_http_minor(state),
      upgrade,
      keepAlive,
    });
    this.#inBody = this.head.headers.transferEncoding !== undefined;
    return this.#inBody ? PAUSED : SKIP_BODY;
  }

  onBody(at: number, length: number): void {
    const start = at + this.#base;
    this.chunks.push((this.#source as Buffer).subarray(start, start + length));
  }
}
