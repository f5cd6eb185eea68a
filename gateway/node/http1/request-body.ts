/**
 * The body of a request. It is received within limits of size, time and memory, and no faster than
 * its reader takes it.
 */
import type { RequestMemory, UnfinishedBody } from "../../../src/memory/memory-budget.js";
import type { ChunkFlow, ChunkReader } from "../../http/body.js";
import { GIVEN_UP, type HttpError, NO_MEMORY } from "../../http/errors.js";
import { type ConnectionLimits, MIN_RESERVED } from "../connection.js";
import { bodyTooLarge, CHUNK_TOO_SLOW, STALLED } from "../request-errors.js";
import { SLOW_READER_MS } from "../slow-reader.js";

/** Bytes that are received before the handler asks for the body. Then the client has to wait. */
const MAX_UNASKED = 16 * 1024;
/** Minimum memory of a chunk of a body besides its bytes. A body may arrive one byte at a time. */
const CHUNK_OVERHEAD = 128;
/**
 * Maximum bytes of an upload that wait while the service reads nothing. They are reserved at once.
 */
const PAUSED_UPLOAD = 128 * 1024;

export interface BodyOwner {
  readonly limits: Pick<ConnectionLimits, "maxBody" | "bodyTime" | "stallMs">;
  readonly memory: RequestMemory;
  /** The handler asks for the body. */
  onAsked(): void;
  /** More may be received, after `takesMore` was false. */
  readOn(): void;
  /** The request fails because of its body. */
  fail(error: HttpError): void;
}

/** How chunks that arrive are handled. */
type Mode = "held" | "collected" | "passed on" | "dropped";

export class Http1RequestBody implements UnfinishedBody {
  /** Whether the whole body has arrived. */
  isComplete = false;
  readonly #owner: BodyOwner;
  /** Bytes that Content-Length announces; undefined for a chunked body. */
  readonly #announced: number | undefined;
  #mode: Mode = "held";
  #chunks: Buffer[] = [];
  #size = 0;
  #maxBytes = 0;
  /** Bytes that the reader of the chunks stores, or that the handler has made from the body. */
  #heldByReader = 0;
  /** Bytes reserved for the part that has arrived. */
  #reserved = 0;
  /** Whether the memory budget has this body in its list of unfinished bodies. */
  #isUnfinished = false;
  #error: HttpError | undefined;
  #resolve: ((chunks: readonly Buffer[]) => void) | undefined;
  #reject: ((error: HttpError) => void) | undefined;
  #reader: ChunkReader | undefined;
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;
  /**
   * Runs after the timer has expired and sockets have been read. Only then is it certain that the
   * next chunk is late.
   */
  #lateCheck: NodeJS.Immediate | undefined;

  constructor(owner: BodyOwner, announced: number | undefined) {
    this.#owner = owner;
    this.#announced = announced;
  }

  /**
   * Whether the body is passed on chunk by chunk. Then the time for the whole body is not limited.
   */
  get readsChunks(): boolean {
    return this.#reader !== undefined;
  }

  get takesMore(): boolean {
    return this.#mode === "held" ? this.#size < MAX_UNASKED : !this.#isPaused;
  }

  /** Receives more of the body. The bytes are copied, because the next read overwrites `chunk`. */
  receive(chunk: Buffer, start: number, end: number): void {
    if (this.#mode === "dropped") return;
    const copy = Buffer.allocUnsafe(end - start);
    chunk.copy(copy, 0, start, end);
    if (this.#mode === "collected") this.#collect(copy);
    else if (this.#mode === "held") this.#hold(copy);
    else if (this.#isPaused || this.#chunks.length > 0) this.#chunks.push(copy);
    else this.#pass(copy);
  }

  /** The whole body has arrived. */
  end(): void {
    this.isComplete = true;
    this.#endUnfinished();
    if (this.#mode === "collected") {
      this.#resolve?.(this.#take());
      this.drop();
    } else if (this.#mode === "passed on" && this.#chunks.length === 0) this.#endChunks();
  }

  /** Reads the body to its end. */
  read(maxBytes: number): readonly Uint8Array[] | Promise<readonly Uint8Array[]> {
    this.#startReading(maxBytes);
    if (this.isComplete) return this.#take();
    const collected = new Promise<readonly Uint8Array[]>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#owner.readOn();
    return collected;
  }

  /**
   * Reads the body if it has arrived completely.
   * @returns undefined where it has not: then nothing has changed
   */
  readArrived(maxBytes: number): readonly Uint8Array[] | undefined {
    if (!this.isComplete) return undefined;
    this.#startReading(maxBytes);
    return this.#take();
  }

  /** @throws {HttpError} 413 too large, or the error of the part that has arrived */
  #startReading(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    if ((this.#announced ?? 0) > maxBytes) throw this.#tooLarge();
    this.#owner.onAsked();
    const chunks = this.#take();
    this.#size = 0;
    this.#mode = "collected";
    for (const chunk of chunks) if (this.#mode === "collected") this.#collect(chunk);
    if (this.#error !== undefined) throw this.#error;
  }

  /**
   * Reserves memory for data that the handler has made from the body, in addition to the body's
   * own.
   */
  tryReserveMade(bytes: number): boolean {
    if (!this.#tryResize(this.#reserved - this.#heldByReader + bytes)) return false;
    this.#heldByReader = bytes;
    return true;
  }

  /** Passes the body on chunk by chunk. */
  readChunks(reader: ChunkReader): ChunkFlow {
    this.#owner.onAsked();
    this.#reader = reader;
    this.#mode = "passed on";
    this.#awaitChunk();
    // The reader must have the flow before it gets the first chunk.
    queueMicrotask(() => this.#passHeld());
    return {
      resume: () => this.#resume(),
      stop: () => this.drop(),
      tryReserve: (...held) => this.#tryReserve(...held),
    };
  }

  /** Ends the reading with an error, which the reader gets. */
  fail(error: HttpError): void {
    if (this.#mode === "dropped") return;
    this.#error ??= error;
    if (this.#mode === "held") return;
    const reject = this.#reject;
    const reader = this.#reader;
    this.drop();
    if (reject !== undefined) reject(error);
    else reader?.onError(error);
  }

  /** Drops the chunks that have arrived, and those that are still to come. */
  drop(): void {
    this.#endWait();
    this.#endUnfinished();
    const waited = !this.takesMore;
    this.#mode = "dropped";
    this.#chunks = [];
    this.#resolve = undefined;
    this.#reject = undefined;
    this.#isPaused = false;
    if (waited) this.#owner.readOn();
  }

  get freeable(): number {
    return this.#reserved;
  }

  giveUp(): void {
    this.#owner.fail(GIVEN_UP);
    this.release();
  }

  /** Releases the memory that the body has reserved. */
  release(): void {
    this.#tryResize(0);
  }

  /**
   * Returns the chunks, and forgets them here: the response may be a stream that lasts long, and
   * the chunks would use memory until its end.
   */
  #take(): Buffer[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  #hold(chunk: Buffer): void {
    this.#size += chunk.length;
    this.#chunks.push(chunk);
  }

  #collect(chunk: Buffer): void {
    this.#size += chunk.length;
    // Most bodies are small and arrive in one chunk. Such a body needs no reservation, because it
    // does not have to wait.
    const isWhole = chunk.length === this.#announced && chunk.length <= MIN_RESERVED;
    if (this.#size > this.#maxBytes) this.fail(this.#tooLarge());
    else if (isWhole) this.#chunks.push(chunk);
    else if (this.#tryCollect(chunk.length + CHUNK_OVERHEAD)) this.#chunks.push(chunk);
    else this.fail(NO_MEMORY);
  }

  #tryCollect(bytes: number): boolean {
    const { memory } = this.#owner;
    // A body that has arrived completely is finished, even if the handler has not read it.
    const isUnfinished = !this.isComplete;
    if (!memory.tryReserve(bytes, isUnfinished ? this : undefined)) return false;
    this.#reserved += bytes;
    this.#isUnfinished = isUnfinished;
    return true;
  }

  #endUnfinished(): void {
    if (!this.#isUnfinished) return;
    this.#isUnfinished = false;
    this.#owner.memory.finished(this);
  }

  #pass(chunk: Buffer): void {
    clearImmediate(this.#lateCheck);
    this.#timer?.refresh();
    if ((this.#reader as ChunkReader).onChunk(chunk) || this.#mode === "dropped") return;
    this.#isPaused = true;
    if (this.#tryResize(this.#heldByReader + PAUSED_UPLOAD))
      this.#failAfter(this.#owner.limits.stallMs ?? SLOW_READER_MS, STALLED);
    else this.#owner.fail(NO_MEMORY);
  }

  #passHeld(): void {
    while (this.#mode === "passed on" && !this.#isPaused && this.#error === undefined && this.#chunks.length > 0) {
      this.#pass(this.#chunks.shift() as Buffer);
    }
    if (this.#mode !== "passed on" || this.#isPaused) return;
    if (this.#error !== undefined) this.fail(this.#error);
    else if (this.isComplete) this.#endChunks();
    else this.#owner.readOn();
  }

  #endChunks(): void {
    const reader = this.#reader as ChunkReader;
    this.drop();
    reader.onEnd();
  }

  #resume(): void {
    if (this.#mode !== "passed on" || !this.#isPaused) return;
    this.#isPaused = false;
    this.#tryResize(this.#heldByReader);
    this.#awaitChunk();
    this.#passHeld();
  }

  #tryReserve(bytes: number, isUnfinished: boolean): boolean {
    this.#heldByReader = bytes;
    if (!isUnfinished) this.#endUnfinished();
    if (!this.#tryResize(bytes, isUnfinished ? this : undefined)) return false;
    this.#isUnfinished = isUnfinished;
    return true;
  }

  #awaitChunk(): void {
    if (this.#reader?.allowsSilence) this.#endWait();
    else this.#failAfter(this.#owner.limits.bodyTime, CHUNK_TOO_SLOW);
  }

  #failAfter(ms: number, error: HttpError): void {
    this.#endWait();
    this.#timer = setTimeout(() => {
      // Timers run before sockets are read. After this process was blocked, the next chunk may
      // already be waiting in the socket.
      this.#lateCheck = setImmediate(() => this.#owner.fail(error));
    }, ms);
  }

  #endWait(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#lateCheck);
  }

  #tooLarge(): HttpError {
    return bodyTooLarge(this.#maxBytes);
  }

  #tryResize(bytes: number, body?: UnfinishedBody): boolean {
    if (bytes === this.#reserved) return true;
    if (!this.#owner.memory.tryResize(this.#reserved, bytes, body)) return false;
    this.#reserved = bytes;
    return true;
  }
}
