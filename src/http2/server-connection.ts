/**
 * The server's end of a connection (RFC 9113): it opens a stream for each request, within limits, until it is drained. What
 * a request is, and how it is answered, is for the subclass.
 */
import type { Duplex } from "node:stream";
import type { ConnectionMemory } from "../memory/memory-budget.js";
import { Connection } from "./connection.js";
import { ConnectionError, ErrorCode, protocolError } from "./errors.js";
import { CONNECTION_WINDOW, STREAM_WINDOW } from "./flow-control.js";
import { LAST_STREAM_ID, PREFACE } from "./frames.js";
import { type HeaderList, type HeaderNames, isMalformed } from "./header-fields.js";
import { KeepAlive, type KeepAliveOptions } from "./keep-alive.js";
import { DEFAULT_WINDOW, Setting, settingsFrame } from "./settings.js";

/** Requests at once on one connection that a server allows. */
export const MAX_STREAMS = 100;

export interface ServerConnectionOptions {
  readonly names: HeaderNames;
  /** Of this connection, which closes it. */
  readonly memory: ConnectionMemory;
  readonly limits: ServerConnectionLimits;
  readonly keepAlive: KeepAliveOptions;
  /** How often streams are checked that wait for the client to read, in milliseconds. */
  readonly stallCheck: number;
  /** After this the connection is drained, in milliseconds; default never. */
  readonly maxAge?: number | undefined;
}

export interface ServerConnectionLimits {
  /** Maximum bytes of a header list. */
  readonly maxHeaders: number;
  /** Time for a header block, and for the first SETTINGS, in milliseconds. */
  readonly headerTime: number;
  /** Time without a stream after which the connection is drained, and at most twice as long, in milliseconds. */
  readonly keepAlive: number;
}

/** A stream of which the client has read nothing at so many checks in a row is reset; while memory is short at the first. */
export const MAX_STALLS = 30;

/** How long a client may take to answer the PING behind the first GOAWAY of a drain, in milliseconds. */
const DRAIN_PING_MS = 1_000;
/** The payload of that PING. */
const DRAIN_MARK = 1;

export abstract class ServerConnection extends Connection {
  /** When the frames that are being read came, in milliseconds of `performance.now()`. */
  arrived = 0;
  protected lastPeerStream = 0;
  readonly #socket: Duplex;
  readonly #headerTime: number;
  #prefaceHas = 0;
  /** Runs until the client's SETTINGS have come, and while a header block is incomplete. */
  #headerTimer: NodeJS.Timeout | undefined;
  #idleCheck: NodeJS.Timeout | undefined;
  #stallCheck: NodeJS.Timeout | undefined;
  #age: NodeJS.Timeout | undefined;
  #drainPing: NodeJS.Timeout | undefined;
  #drained = false;
  /** At the last check for idleness: whether there was no stream, and which had been the last. */
  #wasIdle = false;
  #lastStreamChecked = 0;
  /** Bytes that waited for the socket at the last check, and at how many checks in a row it had taken none. */
  #unreadBefore = 0;
  #stalls = 0;

  constructor(socket: Duplex, { names, memory, limits, keepAlive, stallCheck, maxAge }: ServerConnectionOptions) {
    super(socket, { peer: "client", names, maxHeaders: limits.maxHeaders, memory });
    this.#socket = socket;
    this.#headerTime = limits.headerTime;
    const late = (): void => this.fail(ErrorCode.SETTINGS_TIMEOUT, "no SETTINGS came");
    this.#headerTimer = setTimeout(late, limits.headerTime);
    this.#idleCheck = setInterval(() => this.#checkIdle(), limits.keepAlive / 2).unref();
    this.#stallCheck = setInterval(() => this.#checkStalls(), stallCheck).unref();
    if (maxAge !== undefined) this.#age = setTimeout(() => this.drain(), maxAge).unref();
    this.writer.raw(
      settingsFrame([
        [Setting.MAX_CONCURRENT_STREAMS, MAX_STREAMS],
        [Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW],
        [Setting.MAX_HEADER_LIST_SIZE, limits.maxHeaders],
      ]),
    );
    this.writer.windowUpdate(0, CONNECTION_WINDOW - DEFAULT_WINDOW);
    this.keepAlive = new KeepAlive(this, keepAlive);
    this.keepAlive.start();
  }

  /** A request has begun, on a stream that is new and allowed. The subclass adds it to `streams`, or calls `resetNew`. */
  protected abstract openStream(streamId: number, list: HeaderList, endStream: boolean): void;

  /**
   * Takes no more requests, lets those in flight finish, and closes. In two steps (RFC 9113, section 6.8): a first GOAWAY has
   * the client stop; a second, when the client has answered a PING and so certainly read the first, names the last request,
   * so that none is lost.
   */
  drain(): void {
    if (this.closed || this.#drainPing !== undefined) return;
    this.writer.goaway(LAST_STREAM_ID, ErrorCode.NO_ERROR, "");
    this.writer.ping(DRAIN_MARK);
    this.#drainPing = setTimeout(() => this.onPong(DRAIN_MARK), DRAIN_PING_MS);
  }

  /**
   * Drains a connection that had no stream at two checks in a row. Checks cost a request nothing, unlike a timer that each
   * request would set again.
   */
  #checkIdle(): void {
    const isUnread = this.#socket.writableLength > 0;
    const idle = this.streams.size === 0 && !isUnread && this.#lastStreamChecked === this.lastPeerStream;
    if (idle && this.#wasIdle) this.drain();
    this.#wasIdle = idle;
    this.#lastStreamChecked = this.lastPeerStream;
  }

  #checkStalls(): void {
    const maxStalls = this.memory.isShort ? 1 : MAX_STALLS;
    if (this.#countStall() >= maxStalls) {
      this.destroy();
      return;
    }
    for (const stream of this.streams) {
      if (stream.countStall() < maxStalls) continue;
      this.reset(stream, ErrorCode.CANCEL);
      stream.onReset(ErrorCode.CANCEL);
    }
  }

  /** How many times in a row this was called while bytes waited for the socket and it had taken none since the call before. */
  #countStall(): number {
    const { writableLength } = this.#socket;
    this.#stalls = writableLength > 0 && writableLength === this.#unreadBefore ? this.#stalls + 1 : 0;
    this.#unreadBefore = writableLength;
    return this.#stalls;
  }

  protected override onPong(mark: number): void {
    if (mark !== DRAIN_MARK || this.#drainPing === undefined || this.#drained) return;
    clearTimeout(this.#drainPing);
    this.#drained = true;
    this.writer.goaway(this.lastPeerStream, ErrorCode.NO_ERROR, "");
  }

  protected override receive(chunk: Buffer): void {
    this.arrived = performance.now();
    if (this.#prefaceHas === PREFACE.length) {
      super.receive(chunk);
      return;
    }
    const length = Math.min(PREFACE.length - this.#prefaceHas, chunk.length);
    if (PREFACE.compare(chunk, 0, length, this.#prefaceHas, this.#prefaceHas + length) !== 0) {
      throw protocolError("HTTP/2 is spoken here");
    }
    this.#prefaceHas += length;
    if (length < chunk.length) super.receive(chunk.subarray(length));
  }

  protected onHeaders(streamId: number, list: HeaderList, endStream: boolean): void {
    const stream = this.streams.get(streamId);
    if (stream !== undefined) {
      if (stream.remoteEnded) this.streamError(stream, ErrorCode.STREAM_CLOSED);
      else if (!endStream || list.tooLarge || isMalformed(list.fields, "trailers"))
        this.streamError(stream, ErrorCode.PROTOCOL_ERROR);
      else stream.receiveTrailers();
    } else if (this.#isNew(streamId)) {
      this.lastPeerStream = streamId;
      // A client that opens more streams than it may is tolerated up to the bound of resets.
      if (this.#drained || this.streams.size >= MAX_STREAMS) this.resetNew(streamId, ErrorCode.REFUSED_STREAM);
      else this.openStream(streamId, list, endStream);
    }
  }

  /** False for a stream that we have reset: what was under way is ignored. */
  #isNew(streamId: number): boolean {
    if (this.isIdle(streamId) && streamId % 2 === 1) return true;
    const ending = this.closedStreams.find(streamId);
    if (ending === "by us") return false;
    const code = ending === undefined ? ErrorCode.PROTOCOL_ERROR : ErrorCode.STREAM_CLOSED;
    throw new ConnectionError(code, `HEADERS on stream ${streamId}, which cannot be opened`);
  }

  /** Resets a stream that has just been opened by its headers. */
  protected resetNew(streamId: number, errorCode: number): void {
    this.spendReset();
    this.closedStreams.add(streamId, "by us");
    this.writer.reset(streamId, errorCode);
  }

  protected isIdle(streamId: number): boolean {
    return streamId % 2 === 0 || streamId > this.lastPeerStream;
  }

  protected onSettings(first: boolean): void {
    if (first) clearTimeout(this.#headerTimer);
  }

  protected override onPartialHeaders(incomplete: boolean): void {
    clearTimeout(this.#headerTimer);
    if (!incomplete) return;
    const late = (): void => this.fail(ErrorCode.ENHANCE_YOUR_CALM, "a header block took too long to arrive");
    this.#headerTimer = setTimeout(late, this.#headerTime);
  }

  /** The client opens no more streams; it will close the connection when those it has are over. */
  protected onGoaway(): void {
    this.#drained = true;
    this.requestFlush();
  }

  protected override onReleased(): void {
    if (this.#drained) this.requestFlush();
  }

  protected override onFlushed(): void {
    // The flush that follows the event "drain" comes here again.
    if (this.#drained && this.streams.size === 0 && !this.#socket.writableNeedDrain) this.end();
  }

  protected override onClosed(): void {
    clearTimeout(this.#headerTimer);
    clearInterval(this.#idleCheck);
    clearInterval(this.#stallCheck);
    clearTimeout(this.#age);
    clearTimeout(this.#drainPing);
  }
}
