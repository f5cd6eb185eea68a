/**
 * The behaviour that both ends of an HTTP/2 connection share (RFC 9113). A Connection reads frames.
 * It stores the settings, the flow-control windows and the open streams. It handles each chunk of
 * the socket completely when the chunk arrives. An error of the peer within a stream resets the
 * stream. Any other error ends the connection with a GOAWAY that names the error.
 *
 *     socket → FrameReader → Connection → Stream
 *     socket ← OutputBuffer ← FrameWriter ← Stream, in its turn (SendQueue)
 *
 * This room knows no gRPC.
 */
import type { Duplex } from "node:stream";
import type { ConnectionMemory } from "../memory/memory-budget.js";
import { Allowance, EARNED_BY_WORK, IDLE_FRAMES, RESETS } from "./allowance.js";
import { ConnectionError, ErrorCode, protocolError } from "./errors.js";
import { CONNECTION_WINDOW, ReceiveWindow } from "./flow-control.js";
import { FrameWriter } from "./frame-writer.js";
import { checkControlFrame, Flag, type FrameHandler, FrameReader, FrameType, readUint31 } from "./frames.js";
import { HeaderBlock } from "./header-block.js";
import type { HeaderList, HeaderNames } from "./header-fields.js";
import { HpackDecoder } from "./hpack-decoder.js";
import type { KeepAlive } from "./keep-alive.js";
import { SendQueue } from "./send-queue.js";
import { defaultSettings, MAX_WINDOW, readSettings } from "./settings.js";
import type { Stream, StreamConnection } from "./stream.js";
import { ClosedStreams, type Ending, StreamTable } from "./stream-table.js";

/** How long a peer may take to read the GOAWAY that ends the connection, in milliseconds. */
const GOAWAY_MS = 1_000;

export interface Http2ConnectionOptions {
  /** Which end of the connection the peer is. */
  readonly peer: "client" | "server";
  /** The header names of the protocol above HTTP/2. */
  readonly names: HeaderNames;
  /** Maximum bytes of a header list. */
  readonly maxHeaders: number;
  /** The memory account of this connection, which the connection closes. */
  readonly memory: ConnectionMemory;
}

export abstract class Connection implements FrameHandler, StreamConnection {
  readonly writer: FrameWriter;
  /** Streams that are open at either end. */
  readonly streams = new StreamTable();
  /** The peer's settings. */
  readonly peer = defaultSettings();
  /** The memory that the connection and its streams reserve. */
  readonly memory: ConnectionMemory;
  /** No more frames are read or written. */
  closed = false;

  protected readonly closedStreams = new ClosedStreams();
  /** Set by a subclass that tests the connection with PINGs. */
  protected keepAlive: KeepAlive | undefined;
  readonly #socket: Duplex;
  readonly #peerEnd: Http2ConnectionOptions["peer"];
  readonly #queue: SendQueue;
  readonly #reader = new FrameReader(this);
  readonly #decoder: HpackDecoder;
  readonly #window = new ReceiveWindow(CONNECTION_WINDOW);
  readonly #idleFrames = new Allowance(IDLE_FRAMES);
  readonly #resets = new Allowance(RESETS);
  /** A header block that is incomplete. */
  #block: HeaderBlock | undefined;
  /** The peer's first SETTINGS have arrived. */
  #settled = false;

  constructor(socket: Duplex, { peer, names, maxHeaders, memory }: Http2ConnectionOptions) {
    this.#socket = socket;
    this.#peerEnd = peer;
    this.#decoder = new HpackDecoder(maxHeaders, names);
    this.memory = memory;
    this.writer = new FrameWriter(names, this.#idleFrames, () => this.#queue.requestFlush());
    this.#queue = new SendQueue(this.writer.output, {
      socket,
      memory,
      onFlushed: () => this.onFlushed(),
      onOverflow: () => this.destroy(),
    });
    socket.on("data", this.#receive);
    socket.on("end", () => socket.end());
    socket.on("error", () => this.destroy());
    socket.on("close", () => this.destroy());
  }

  // What differs between the two ends.

  /** A header list has arrived, perhaps for a new stream. */
  protected abstract onHeaders(streamId: number, list: HeaderList, endStream: boolean): void;
  /** The peer's settings have arrived, for the first time or again. */
  protected abstract onSettings(first: boolean): void;
  protected abstract onGoaway(lastStreamId: number, errorCode: number, debug: string): void;
  /** Whether the stream was never opened. */
  protected abstract isIdle(streamId: number): boolean;
  /** The last stream of the peer that this end has processed, for GOAWAY. */
  protected abstract get lastPeerStream(): number;
  /** @param mark the argument of the `ping` to which the peer responded */
  protected onPong(_mark: number): void {}
  /** A header block of several frames has begun, or is complete. */
  protected onPartialHeaders(_incomplete: boolean): void {}
  /** A stream was removed from `streams`. */
  protected onReleased(): void {}
  /** Everything that can be written now has been written. */
  protected onFlushed(): void {}
  /** The connection has ended, and its streams have been notified. */
  protected onClosed(): void {}

  // Reading.

  protected receive(chunk: Buffer): void {
    this.#reader.read(chunk);
  }

  readonly #receive = (chunk: Buffer): void => {
    if (this.closed) return;
    this.keepAlive?.onRead();
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
      throw protocolError("the first frame is not SETTINGS");
    if (this.#block !== undefined && (type !== FrameType.CONTINUATION || streamId !== this.#block.streamId)) {
      throw protocolError("a frame within a header block");
    }
    if (type === FrameType.DATA) this.#onData(flags, streamId, buffer, start, end);
    else if (type === FrameType.HEADERS) this.#onHeaders(flags, streamId, buffer, start, end);
    else if (type === FrameType.CONTINUATION) this.#onContinuation(flags, buffer, start, end);
    else {
      checkControlFrame(type, streamId, end - start);
      this.#onControlFrame(type, flags, streamId, buffer, start, end);
    }
  }

  #onControlFrame(type: number, flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    switch (type) {
      case FrameType.RST_STREAM:
        this.#onReset(streamId, buffer, start);
        break;
      case FrameType.SETTINGS:
        this.#onSettings(flags, buffer, start, end);
        break;
      case FrameType.PING:
        this.#onPing(flags, buffer, start);
        break;
      case FrameType.GOAWAY:
        this.#onGoaway(buffer, start, end);
        break;
      case FrameType.WINDOW_UPDATE:
        this.#onWindowUpdate(streamId, buffer, start);
        break;
      case FrameType.PRIORITY:
        this.#onPriority(streamId, buffer, start);
        break;
      case FrameType.PUSH_PROMISE:
        throw protocolError("PUSH_PROMISE, which was never allowed");
      default:
        this.#spendIdle();
    }
  }

  #onData(flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    if (streamId === 0) throw protocolError("DATA on stream 0");
    const size = end - start;
    // A peer cannot exceed this window: at least half of it is always left, and no frame is larger
    // than that half.
    const increment = this.#window.take(size);
    if (increment > 0) this.writer.windowUpdate(0, increment);
    const from = flags & Flag.PADDED ? start + 1 : start;
    const to = flags & Flag.PADDED ? withoutPadding(buffer, start, end) : end;
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (from < to) this.#idleFrames.earn(EARNED_BY_WORK);
    else if (!endStream) this.#spendIdle();
    const stream = this.streams.get(streamId);
    if (stream === undefined) this.#onDataWithoutStream(streamId);
    else if (stream.remoteEnded) this.streamError(stream, ErrorCode.STREAM_CLOSED);
    else stream.receive(size, buffer, from, to, endStream);
  }

  /**
   * Ignores DATA that was in transit when this end reset the stream. Any other DATA is an error of
   * the stream.
   */
  #onDataWithoutStream(streamId: number): void {
    if (this.isIdle(streamId)) throw protocolError(`DATA on stream ${streamId}, which is idle`);
    if (this.closedStreams.find(streamId) === "by us") return;
    this.spendReset();
    this.writer.reset(streamId, ErrorCode.STREAM_CLOSED);
  }

  #onHeaders(flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    if (streamId === 0) throw protocolError("HEADERS on stream 0");
    let from = flags & Flag.PADDED ? start + 1 : start;
    const to = flags & Flag.PADDED ? withoutPadding(buffer, start, end) : end;
    if (flags & Flag.PRIORITY) {
      if (to - from < 5) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS too short for a priority");
      if (readUint31(buffer, from) === streamId) throw protocolError(`stream ${streamId} depends on itself`);
      from += 5;
    }
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (flags & Flag.END_HEADERS) {
      this.#idleFrames.earn(EARNED_BY_WORK);
      this.onHeaders(streamId, this.#decoder.decode(buffer, from, to), endStream);
      return;
    }
    this.#block = new HeaderBlock(streamId, endStream, this.memory);
    this.onPartialHeaders(true);
    this.#block.add(buffer, from, to);
  }

  #onContinuation(flags: number, buffer: Buffer, start: number, end: number): void {
    const block = this.#block;
    if (block === undefined) throw protocolError("CONTINUATION without HEADERS");
    block.add(buffer, start, end);
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.#block = undefined;
    const complete = block.finish();
    this.onPartialHeaders(false);
    this.#idleFrames.earn(EARNED_BY_WORK);
    this.onHeaders(block.streamId, this.#decoder.decode(complete, 0, complete.length), block.endStream);
  }

  #onReset(streamId: number, buffer: Buffer, start: number): void {
    if (this.isIdle(streamId)) throw protocolError(`RST_STREAM on stream ${streamId}, which is idle`);
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

  #onSettings(flags: number, buffer: Buffer, start: number, end: number): void {
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
    readSettings(this.peer, this.#peerEnd, buffer, start, end);
    this.writer.encoder.setTableSize(this.peer.headerTableSize);
    this.writer.acknowledgeSettings();
    const increment = this.peer.initialWindow - before;
    if (increment !== 0) for (const stream of this.streams) this.#growWindow(stream, increment, true);
    this.onSettings(first);
  }

  #onPing(flags: number, buffer: Buffer, start: number): void {
    this.#spendIdle();
    if (flags & Flag.ACK) this.onPong(buffer[start] as number);
    else this.writer.pong(buffer, start);
  }

  #onGoaway(buffer: Buffer, start: number, end: number): void {
    this.#spendIdle();
    this.onGoaway(readUint31(buffer, start), buffer.readUInt32BE(start + 4), buffer.toString("latin1", start + 8, end));
  }

  #onWindowUpdate(streamId: number, buffer: Buffer, start: number): void {
    this.#spendIdle();
    const increment = readUint31(buffer, start);
    if (streamId === 0) {
      if (increment === 0) throw protocolError("WINDOW_UPDATE by 0");
      this.writer.window += increment;
      if (this.writer.window > MAX_WINDOW)
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "the window overflows");
      this.#queue.unblock();
      return;
    }
    if (this.isIdle(streamId)) throw protocolError(`WINDOW_UPDATE on stream ${streamId}, which is idle`);
    const stream = this.streams.get(streamId);
    if (stream === undefined) return;
    if (increment === 0) this.streamError(stream, ErrorCode.PROTOCOL_ERROR);
    else this.#growWindow(stream, increment, false);
  }

  /**
   * Increases a stream's send window. An overflow because of SETTINGS ends the connection; an
   * overflow because of WINDOW_UPDATE resets the stream (section 6.9).
   */
  #growWindow(stream: Stream, by: number, settings: boolean): void {
    stream.sendWindow += by;
    if (stream.sendWindow <= MAX_WINDOW) this.schedule(stream);
    else if (settings) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "the settings make a window overflow");
    else this.streamError(stream, ErrorCode.FLOW_CONTROL_ERROR);
  }

  /** Ignores priorities (section 5.3.2), except for an invalid one (RFC 7540, section 5.3.1). */
  #onPriority(streamId: number, buffer: Buffer, start: number): void {
    if (readUint31(buffer, start) === streamId) throw protocolError(`stream ${streamId} depends on itself`);
    this.#spendIdle();
  }

  #spendIdle(): void {
    if (!this.#idleFrames.spend()) {
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that carry nothing");
    }
  }

  /** The peer made this end open a stream, or respond to a frame, only to have the stream reset. */
  protected spendReset(): void {
    if (!this.#resets.spend()) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many streams were reset");
  }

  // Writing.

  schedule(stream: Stream): void {
    this.#queue.add(stream);
  }

  block(stream: Stream): void {
    this.#queue.block(stream);
  }

  /** Writes everything at the end of this event-loop turn. `onFlushed` follows. */
  protected requestFlush(): void {
    this.#queue.requestFlush();
  }

  // Ending.

  streamError(stream: Stream, errorCode: number): void {
    this.spendReset();
    this.reset(stream, errorCode);
    stream.onReset(errorCode);
  }

  /** Ends a stream from this end, at once. */
  reset(stream: Stream, errorCode: number): void {
    if (!this.streams.has(stream.id)) return;
    this.release(stream, "by us");
    if (!this.closed) this.writer.reset(stream.id, errorCode);
  }

  release(stream: Stream, ending: Ending): void {
    if (!this.streams.delete(stream.id)) return;
    stream.releaseMemory();
    this.closedStreams.add(stream.id, ending);
    this.#queue.delete(stream);
    this.onReleased();
  }

  /** Ends the connection, and sends the peer the reason. */
  fail(errorCode: number, message: string): void {
    if (this.closed) return;
    this.writer.goaway(this.lastPeerStream, errorCode, message);
    this.end();
  }

  /** Ends the connection after everything that is already written. */
  protected end(): void {
    if (this.closed) return;
    this.writer.output.flush(this.#socket);
    this.#socket.end();
    const timeout = setTimeout(() => this.#socket.destroy(), GOAWAY_MS);
    this.#socket.once("close", () => clearTimeout(timeout));
    this.#close();
  }

  destroy(): void {
    this.#socket.destroy();
    this.#close();
  }

  #close(): void {
    if (this.closed) return;
    this.closed = true;
    this.memory.close();
    this.#reader.stopped = true;
    this.keepAlive?.stop();
    const streams = [...this.streams];
    this.streams.clear();
    this.#queue.close();
    for (const stream of streams) stream.onLost();
    this.onClosed();
  }
}

/** The end of the content in a padded frame (section 6.1). */
function withoutPadding(buffer: Buffer, start: number, end: number): number {
  const padding = start < end ? (buffer[start] as number) : end;
  if (padding >= end - start) throw protocolError("the padding is longer than the frame");
  return end - padding;
}
