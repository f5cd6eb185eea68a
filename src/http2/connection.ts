/**
 * What both ends of an HTTP/2 connection do alike (RFC 9113): frames in and out, settings, flow control, PING, GOAWAY,
 * and the bounds that a hostile peer runs into.
 *
 * Writing: streams that have something to write stand in a list, and once an event-loop turn each writes what the windows
 * allow into one output, which is given to the socket as one write. So the HEADERS, DATA and END_STREAM of a call, and
 * those of all calls of the turn, travel together. While the peer reads slowly the list waits.
 *
 * Reading: a chunk is handled to its end at once. A peer's mistake within a stream resets the stream; any other ends the
 * connection with a GOAWAY that says why.
 */
import type { Duplex } from "node:stream";
import type { ConnectionMemory } from "../memory-budget.js";
import { type Encoding, PREFIX } from "../rpc/http2/messages.js";
import { Allowance, EARNED_BY_WORK, IDLE_FRAMES, RESETS } from "./allowance.js";
import { ClosedStreams } from "./closed-streams.js";
import { ConnectionError, ErrorCode } from "./errors.js";
import { CONNECTION_WINDOW, ReceiveWindow } from "./flow-control.js";
import {
  Flag,
  FRAME_HEADER,
  type FrameHandler,
  FrameReader,
  FrameType,
  MAX_FRAME_SIZE,
  readUint31,
  writeFrameHeader,
} from "./frames.js";
import { type HeaderList, HpackDecoder } from "./hpack-decoder.js";
import { HpackEncoder, SIZE_UPDATE } from "./hpack-encoder.js";
import { Output } from "./output.js";
import { DEFAULT_WINDOW, defaultSettings, MAX_WINDOW, readSettings } from "./settings.js";
import type { Stream } from "./stream.js";
import { StreamTable } from "./stream-table.js";

/** Bytes that wait for the socket, above which no stream writes. */
const MAX_BUFFERED = 256 * 1024;
/** Bytes that wait for the socket, above which the peer is cut off: it makes us answer and does not read the answers. */
const MAX_UNREAD = 1024 * 1024;

/**
 * Most bytes of a header block. One whose list is larger than allowed is read to its end, because later blocks rely on the
 * table that it changes, and its stream is refused; a block that is larger than this ends the connection.
 */
const MAX_BLOCK = 1024 * 1024;
/** CONTINUATION frames of a block: so many, and one more for each of these bytes that came. */
const MAX_CONTINUATIONS = 16;
const CONTINUATION_BYTES = 4_096;

/** How long a peer may take to read the GOAWAY that says what it did wrong, in milliseconds. */
const PARTING_MS = 1_000;

export interface KeepAlive {
  /** How long a connection may be silent before it is tested, in milliseconds. */
  readonly after: number;
  /** How long the peer may take to answer the test, in milliseconds. */
  readonly timeout: number;
}

/** A header block of which more is to come. */
interface Block {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

export abstract class Connection implements FrameHandler {
  readonly output = new Output();
  readonly encoder = new HpackEncoder();
  /** Streams that are open at either end. */
  readonly streams = new StreamTable();
  /** What the peer allows us. */
  readonly peer = defaultSettings();
  /** What may be sent on all streams together. */
  sendWindow = DEFAULT_WINDOW;
  /** No frame is read or written any more. */
  closed = false;

  /** What the connection and its streams hold of the process's memory. */
  readonly memory: ConnectionMemory;
  protected readonly socket: Duplex;
  protected readonly closedStreams = new ClosedStreams();
  readonly #reader = new FrameReader(this);
  readonly #decoder: HpackDecoder;
  readonly #window = new ReceiveWindow(CONNECTION_WINDOW);
  readonly #idleFrames = new Allowance(IDLE_FRAMES);
  readonly #resets = new Allowance(RESETS);
  readonly #from: "client" | "server";
  #block: Block | undefined;
  /** Bytes that the socket has not taken, as far as they are reserved. */
  #untaken = 0;
  #settled = false;

  /** Streams that have something to write, in order. */
  #ready: Stream[] = [];
  /** Streams that wait for the connection's window, in order. */
  #starved: Stream[] = [];
  #woken = false;

  #heard = true;
  #keepAlive: NodeJS.Timeout | undefined;
  #timeout: NodeJS.Timeout | undefined;

  /**
   * @param from which end the peer is
   * @param maxHeaders most bytes of a header list
   * @param memory of this connection, which closes it
   */
  constructor(socket: Duplex, from: "client" | "server", maxHeaders: number, memory: ConnectionMemory) {
    this.socket = socket;
    this.#from = from;
    this.#decoder = new HpackDecoder(maxHeaders);
    this.memory = memory;
    socket.on("data", this.#receive);
    socket.on("drain", this.#flush);
    socket.on("end", () => socket.end());
    socket.on("error", () => this.destroy());
    socket.on("close", () => this.destroy());
  }

  // What the two ends do differently.

  /** A header list has come, for a stream that may be new. */
  protected abstract onHeaders(streamId: number, list: HeaderList, endStream: boolean): void;
  /** The peer's settings have come, for the first time or again. */
  protected abstract onSettings(first: boolean): void;
  protected abstract onGoaway(lastStreamId: number, errorCode: number, debug: string): void;
  /** Whether a stream has never been opened. */
  protected abstract isIdle(streamId: number): boolean;
  /** The last stream of the peer's that was acted on, for GOAWAY. */
  protected abstract get lastPeerStream(): number;
  /** @param mark as it was given to `writePing` */
  protected onPong(_mark: number): void {}
  /** A header block has begun that takes several frames, or has come to its end. */
  protected onPartialHeaders(_incomplete: boolean): void {}
  /** A stream has left `streams`. */
  protected onReleased(): void {}
  /** All that could be written has been. */
  protected onFlushed(): void {}
  /** The connection is over; its streams have been told. */
  protected onClosed(): void {}

  // Reading.

  protected receive(chunk: Buffer): void {
    this.#reader.read(chunk);
  }

  readonly #receive = (chunk: Buffer): void => {
    if (this.closed) return;
    this.#heard = true;
    try {
      this.receive(chunk);
    } catch (error) {
      if (!(error instanceof ConnectionError)) {
        this.destroy();
        throw error;
      }
      this.fail(error.code, error.message);
    }
  };

  onFrame(type: number, flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    if (!this.#settled && (type !== FrameType.SETTINGS || flags & Flag.ACK))
      throw broken("the first frame is not SETTINGS");
    if (this.#block !== undefined && (type !== FrameType.CONTINUATION || streamId !== this.#block.streamId)) {
      throw broken("a frame within a header block");
    }
    switch (type) {
      case FrameType.DATA:
        this.#onData(flags, streamId, buffer, start, end);
        break;
      case FrameType.HEADERS:
        this.#onHeaders(flags, streamId, buffer, start, end);
        break;
      case FrameType.CONTINUATION:
        this.#onContinuation(flags, buffer, start, end);
        break;
      case FrameType.RST_STREAM:
        this.#onReset(streamId, buffer, start, end);
        break;
      case FrameType.SETTINGS:
        this.#onSettings(flags, streamId, buffer, start, end);
        break;
      case FrameType.PING:
        this.#onPing(flags, streamId, buffer, start, end);
        break;
      case FrameType.GOAWAY:
        this.#onGoaway(streamId, buffer, start, end);
        break;
      case FrameType.WINDOW_UPDATE:
        this.#onWindowUpdate(streamId, buffer, start, end);
        break;
      case FrameType.PRIORITY:
        this.#onPriority(streamId, buffer, start, end);
        break;
      case FrameType.PUSH_PROMISE:
        throw broken("PUSH_PROMISE, which was never allowed");
      default:
        this.#spendIdle();
    }
  }

  #onData(flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    if (streamId === 0) throw broken("DATA on stream 0");
    const size = end - start;
    if (!this.#window.receive(size)) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "the window was overrun");
    const increment = this.#window.take(size);
    if (increment > 0) this.writeWindowUpdate(0, increment);
    const from = flags & Flag.PADDED ? start + 1 : start;
    const to = flags & Flag.PADDED ? withoutPadding(buffer, start, end) : end;
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (from < to) this.#idleFrames.earn(EARNED_BY_WORK);
    else if (!endStream) this.#spendIdle();
    const stream = this.streams.get(streamId);
    if (stream === undefined) this.#dataOfNone(streamId);
    else if (stream.remoteEnded) this.streamError(stream, ErrorCode.STREAM_CLOSED);
    else stream.receive(size, buffer, from, to, endStream);
  }

  /** DATA that was under way when we reset its stream is ignored. */
  #dataOfNone(streamId: number): void {
    if (this.isIdle(streamId)) throw broken(`DATA on stream ${streamId}, which is idle`);
    if (this.closedStreams.find(streamId) === "by us") return;
    this.spendReset();
    this.writeReset(streamId, ErrorCode.STREAM_CLOSED);
  }

  #onHeaders(flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    if (streamId === 0) throw broken("HEADERS on stream 0");
    let from = flags & Flag.PADDED ? start + 1 : start;
    const to = flags & Flag.PADDED ? withoutPadding(buffer, start, end) : end;
    if (flags & Flag.PRIORITY) {
      if (to - from < 5) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS too short for a priority");
      if (readUint31(buffer, from) === streamId) throw broken(`stream ${streamId} depends on itself`);
      from += 5;
    }
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (flags & Flag.END_HEADERS) {
      this.#idleFrames.earn(EARNED_BY_WORK);
      this.onHeaders(streamId, this.#decoder.decode(buffer, from, to), endStream);
      return;
    }
    this.#block = { streamId, endStream, parts: [], bytes: 0 };
    this.onPartialHeaders(true);
    this.#addToBlock(this.#block, buffer, from, to);
  }

  #onContinuation(flags: number, buffer: Buffer, start: number, end: number): void {
    const block = this.#block;
    if (block === undefined) throw broken("CONTINUATION without HEADERS");
    this.#addToBlock(block, buffer, start, end);
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.memory.release(block.bytes);
    this.onPartialHeaders(false);
    this.#idleFrames.earn(EARNED_BY_WORK);
    const whole = Buffer.concat(block.parts, block.bytes);
    this.onHeaders(block.streamId, this.#decoder.decode(whole, 0, whole.length), block.endStream);
  }

  #addToBlock(block: Block, buffer: Buffer, start: number, end: number): void {
    const size = end - start;
    const tooMany = block.parts.length > MAX_CONTINUATIONS + block.bytes / CONTINUATION_BYTES;
    if (tooMany || block.bytes + size > MAX_BLOCK || !this.memory.tryReserve(size)) {
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "a header block is too large");
    }
    block.bytes += size;
    block.parts.push(Buffer.from(buffer.subarray(start, end)));
  }

  #onReset(streamId: number, buffer: Buffer, start: number, end: number): void {
    if (streamId === 0) throw broken("RST_STREAM on stream 0");
    if (end - start !== 4) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `RST_STREAM of ${end - start} bytes`);
    if (this.isIdle(streamId)) throw broken(`RST_STREAM on stream ${streamId}, which is idle`);
    const stream = this.streams.get(streamId);
    if (stream === undefined) {
      this.#spendIdle();
      this.closedStreams.endedByPeer(streamId);
      return;
    }
    this.spendReset();
    this.release(stream, "by the peer");
    stream.onReset(buffer.readUInt32BE(start));
  }

  #onSettings(flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    if (streamId !== 0) throw broken("SETTINGS on a stream");
    if (flags & Flag.ACK) {
      if (end > start)
        throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "an acknowledgement of SETTINGS is not empty");
      this.#spendIdle();
      return;
    }
    const first = !this.#settled;
    if (!first) this.#spendIdle();
    this.#settled = true;
    const before = this.peer.initialWindow;
    readSettings(this.peer, this.#from, buffer, start, end);
    this.encoder.setTableSize(this.peer.headerTableSize);
    this.#writeControl(FrameType.SETTINGS, Flag.ACK, 0, 0);
    const grown = this.peer.initialWindow - before;
    if (grown !== 0) for (const stream of this.streams) this.#growWindow(stream, grown, true);
    this.onSettings(first);
  }

  #onPing(flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    if (streamId !== 0) throw broken("PING on a stream");
    if (end - start !== 8) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `PING of ${end - start} bytes`);
    this.#spendIdle();
    if (flags & Flag.ACK) {
      this.onPong(buffer[start] as number);
      return;
    }
    const at = this.#writeControl(FrameType.PING, Flag.ACK, 0, 8);
    buffer.copy(this.output.buffer, at, start, end);
  }

  #onGoaway(streamId: number, buffer: Buffer, start: number, end: number): void {
    if (streamId !== 0) throw broken("GOAWAY on a stream");
    if (end - start < 8) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `GOAWAY of ${end - start} bytes`);
    this.#spendIdle();
    this.onGoaway(readUint31(buffer, start), buffer.readUInt32BE(start + 4), buffer.toString("latin1", start + 8, end));
  }

  #onWindowUpdate(streamId: number, buffer: Buffer, start: number, end: number): void {
    if (end - start !== 4)
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `WINDOW_UPDATE of ${end - start} bytes`);
    this.#spendIdle();
    const increment = readUint31(buffer, start);
    if (streamId === 0) {
      if (increment === 0) throw broken("WINDOW_UPDATE by 0");
      this.sendWindow += increment;
      if (this.sendWindow > MAX_WINDOW) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "the window overflows");
      const starved = this.#starved;
      this.#starved = [];
      for (const stream of starved) this.schedule(stream);
      return;
    }
    if (this.isIdle(streamId)) throw broken(`WINDOW_UPDATE on stream ${streamId}, which is idle`);
    const stream = this.streams.get(streamId);
    if (stream === undefined) return;
    if (increment === 0) this.streamError(stream, ErrorCode.PROTOCOL_ERROR);
    else this.#growWindow(stream, increment, false);
  }

  /** Section 6.9.2: what settings make overflow ends the connection, what a WINDOW_UPDATE does ends the stream. */
  #growWindow(stream: Stream, by: number, settings: boolean): void {
    stream.sendWindow += by;
    if (stream.sendWindow <= MAX_WINDOW) this.schedule(stream);
    else if (settings) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "the settings make a window overflow");
    else this.streamError(stream, ErrorCode.FLOW_CONTROL_ERROR);
  }

  /** Priorities are ignored (section 5.3.2), but for one that cannot be (RFC 7540, section 5.3.1). */
  #onPriority(streamId: number, buffer: Buffer, start: number, end: number): void {
    if (streamId === 0) throw broken("PRIORITY on stream 0");
    if (end - start !== 5) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `PRIORITY of ${end - start} bytes`);
    if (readUint31(buffer, start) === streamId) throw broken(`stream ${streamId} depends on itself`);
    this.#spendIdle();
  }

  #spendIdle(): void {
    if (!this.#idleFrames.spend()) {
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that carry nothing");
    }
  }

  /** A stream was ended that cost us more than its peer. */
  protected spendReset(): void {
    if (!this.#resets.spend()) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many streams were reset");
  }

  /** Resets a stream for what the peer did on it. */
  streamError(stream: Stream, errorCode: number): void {
    this.spendReset();
    this.reset(stream, errorCode);
    stream.onReset(errorCode);
  }

  // Writing.

  /** A stream has something to write. */
  schedule(stream: Stream): void {
    if (stream.queued) return;
    stream.queued = true;
    this.#ready.push(stream);
    this.wake();
  }

  /** A stream waits for the connection's window. */
  starve(stream: Stream): void {
    if (!this.#starved.includes(stream)) this.#starved.push(stream);
  }

  /**
   * Begins a header block of at most so many bytes, by `sizeOf` of its fields; `encoder` then writes into `output`.
   * @returns the place to give to `endHeaders`
   */
  beginHeaders(room: number): number {
    this.output.reserve(FRAME_HEADER + SIZE_UPDATE + room);
    const at = this.output.at;
    this.output.at += FRAME_HEADER;
    this.encoder.begin(this.output);
    return at;
  }

  endHeaders(at: number, streamId: number, flags: number): void {
    const length = this.output.at - at - FRAME_HEADER;
    if (length > MAX_FRAME_SIZE) this.#splitHeaders(at, streamId, flags);
    else writeFrameHeader(this.output.buffer, at, length, FrameType.HEADERS, flags | Flag.END_HEADERS, streamId);
    this.#idleFrames.earn(EARNED_BY_WORK);
  }

  #splitHeaders(at: number, streamId: number, flags: number): void {
    const { output } = this;
    const block = Buffer.from(output.buffer.subarray(at + FRAME_HEADER, output.at));
    output.at = at;
    for (let from = 0; from < block.length; from += MAX_FRAME_SIZE) {
      const to = Math.min(from + MAX_FRAME_SIZE, block.length);
      const type = from === 0 ? FrameType.HEADERS : FrameType.CONTINUATION;
      const last = to === block.length ? Flag.END_HEADERS : 0;
      output.reserve(FRAME_HEADER);
      writeFrameHeader(output.buffer, output.at, to - from, type, (from === 0 ? flags : 0) | last, streamId);
      output.at += FRAME_HEADER;
      output.append(block, from, to);
    }
  }

  /** Writes `size` bytes of a message and its prefix as one DATA frame, beginning `sent` bytes into them. */
  writeMessage(
    streamId: number,
    flags: number,
    message: Uint8Array,
    encoding: Encoding,
    sent: number,
    size: number,
  ): void {
    const { output } = this;
    output.reserve(FRAME_HEADER + PREFIX);
    writeFrameHeader(output.buffer, output.at, size, FrameType.DATA, flags, streamId);
    output.at += FRAME_HEADER;
    const end = sent + size;
    const flag = encoding === "identity" ? 0 : 1;
    for (let at = sent; at < PREFIX && at < end; at++) {
      output.buffer[output.at++] = at === 0 ? flag : message.length >>> ((4 - at) * 8);
    }
    if (end > PREFIX) output.append(message, Math.max(sent - PREFIX, 0), end - PREFIX);
    this.sendWindow -= size;
    this.#idleFrames.earn(EARNED_BY_WORK);
  }

  /** Writes bytes that are no message, or none, as one DATA frame. */
  writeData(streamId: number, flags: number, bytes: Uint8Array): void {
    const { output } = this;
    output.reserve(FRAME_HEADER + bytes.length);
    writeFrameHeader(output.buffer, output.at, bytes.length, FrameType.DATA, flags, streamId);
    output.at += FRAME_HEADER;
    output.copy(bytes);
    this.sendWindow -= bytes.length;
    this.#idleFrames.earn(EARNED_BY_WORK);
  }

  writeWindowUpdate(streamId: number, increment: number): void {
    const at = this.#writeControl(FrameType.WINDOW_UPDATE, 0, streamId, 4);
    this.output.buffer.writeUInt32BE(increment, at);
  }

  writeReset(streamId: number, errorCode: number): void {
    const at = this.#writeControl(FrameType.RST_STREAM, 0, streamId, 4);
    this.output.buffer.writeUInt32BE(errorCode, at);
  }

  protected writeGoaway(lastStreamId: number, errorCode: number, debug: string): void {
    const at = this.#writeControl(FrameType.GOAWAY, 0, 0, 8 + debug.length);
    this.output.buffer.writeUInt32BE(lastStreamId, at);
    this.output.buffer.writeUInt32BE(errorCode, at + 4);
    this.output.buffer.write(debug, at + 8, "latin1");
  }

  protected writePing(mark: number): void {
    const at = this.#writeControl(FrameType.PING, 0, 0, 8);
    this.output.buffer.fill(mark, at, at + 8);
  }

  /** Bytes that are no frame of this module's making: the preface, the first SETTINGS. */
  protected writeRaw(bytes: Uint8Array): void {
    this.output.reserve(bytes.length);
    this.output.copy(bytes);
    this.wake();
  }

  /** Leaves room for the payload; gives its place. */
  #writeControl(type: number, flags: number, streamId: number, length: number): number {
    const { output } = this;
    output.reserve(FRAME_HEADER + length);
    writeFrameHeader(output.buffer, output.at, length, type, flags, streamId);
    const at = output.at + FRAME_HEADER;
    output.at = at + length;
    this.wake();
    return at;
  }

  /** Has all that waits written at the end of this event-loop turn. */
  protected wake(): void {
    if (this.#woken) return;
    this.#woken = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#woken = false;
    if (this.closed) return;
    while (this.#ready.length > 0 && this.#unread < MAX_BUFFERED) this.#writeReady();
    this.output.flush(this.socket);
    if (this.#unread > MAX_UNREAD || !this.#reserveUntaken()) this.destroy();
    else this.onFlushed();
  };

  /** Reserves what the socket has not taken; false where that does not fit. */
  #reserveUntaken(): boolean {
    const untaken = this.socket.writableLength;
    if (untaken === this.#untaken) return true;
    if (!this.memory.tryResize(this.#untaken, untaken)) return false;
    this.#untaken = untaken;
    return true;
  }

  get #unread(): number {
    return this.output.size + this.socket.writableLength;
  }

  /** Lets each stream of the list write once, in order, until enough waits for the socket. */
  #writeReady(): void {
    const streams = this.#ready;
    this.#ready = [];
    for (let index = 0; index < streams.length; index++) {
      const stream = streams[index] as Stream;
      if (this.#unread >= MAX_BUFFERED) {
        this.#ready = [...streams.slice(index), ...this.#ready];
        this.#reserveFor(streams.slice(index));
        break;
      }
      stream.queued = false;
      stream.write();
    }
    this.output.flush(this.socket);
  }

  /** What streams hold that must wait to write. */
  #reserveFor(streams: readonly Stream[]): void {
    for (const stream of streams) if (!stream.reserve()) stream.onNoMemory();
  }

  // Ending.

  /** Ends a stream from this side, at once. */
  reset(stream: Stream, errorCode: number): void {
    if (!this.streams.has(stream.id)) return;
    this.release(stream, "by us");
    if (!this.closed) this.writeReset(stream.id, errorCode);
  }

  /** Forgets a stream that has ended. */
  release(stream: Stream, ending: "by us" | "by the peer"): void {
    if (!this.streams.delete(stream.id)) return;
    stream.releaseMemory();
    this.closedStreams.add(stream.id, ending);
    if (this.#starved.includes(stream)) this.#starved = this.#starved.filter((other) => other !== stream);
    if (stream.queued) {
      this.#ready = this.#ready.filter((other) => other !== stream);
      stream.queued = false;
    }
    this.onReleased();
  }

  /** Ends the connection, and tells the peer why. */
  fail(errorCode: number, message: string): void {
    if (this.closed) return;
    this.writeGoaway(this.lastPeerStream, errorCode, message);
    this.end();
  }

  /** Ends the connection after what has been written. */
  protected end(): void {
    if (this.closed) return;
    this.output.flush(this.socket);
    this.socket.end();
    const parting = setTimeout(() => this.socket.destroy(), PARTING_MS);
    this.socket.once("close", () => clearTimeout(parting));
    this.#close();
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.socket.destroy();
    this.#close();
  }

  #close(): void {
    if (this.closed) return;
    this.closed = true;
    this.memory.close();
    this.#reader.stopped = true;
    clearInterval(this.#keepAlive);
    clearTimeout(this.#timeout);
    const streams = [...this.streams];
    this.streams.clear();
    this.#ready.length = 0;
    for (const stream of streams) stream.onLost();
    this.onClosed();
  }

  /** Tests the connection whenever it has been silent, and gives it up when it stays so. */
  protected keepAlive({ after, timeout }: KeepAlive, needed: () => boolean): void {
    clearInterval(this.#keepAlive);
    this.#keepAlive = setInterval(() => {
      const heard = this.#heard;
      this.#heard = false;
      if (heard || !needed()) return;
      this.writePing(0);
      this.#timeout = setTimeout(() => {
        if (!this.#heard) this.destroy();
      }, timeout);
      this.#timeout.unref();
    }, after);
    this.#keepAlive.unref();
  }
}

function broken(what: string): ConnectionError {
  return new ConnectionError(ErrorCode.PROTOCOL_ERROR, what);
}

/** Where a padded frame's content ends (section 6.1). */
function withoutPadding(buffer: Buffer, start: number, end: number): number {
  const padding = start < end ? (buffer[start] as number) : end;
  if (padding >= end - start) throw broken("the padding is longer than the frame");
  return end - padding;
}
