/**
 * The server's end of a connection (RFC 9113). It opens a stream for each request, within limits,
 * until it is drained. The subclass defines what a request is, and how to respond to it.
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

/** Maximum number of concurrent requests that a server allows on one connection. */
export const MAX_STREAMS = 100;

export interface ServerConnectionOptions {
  readonly names: HeaderNames;
  /** The memory account of this connection, which the connection closes. */
  readonly memory: ConnectionMemory;
  readonly limits: ServerConnectionLimits;
  readonly keepAlive: KeepAliveOptions;
  /** How often a stream that waits for the client to read is checked, in milliseconds. */
  readonly stallCheck: number;
  /** The age at which the connection is drained, in milliseconds; default never. */
  readonly maxAge?: number | undefined;
}

export interface ServerConnectionLimits {
  /** Maximum bytes of a header list. */
  readonly maxHeaders: number;
  /** Maximum time of a header block, and of the first SETTINGS, in milliseconds. */
  readonly headerTime: number;
  /**
   * How long a connection may be without a stream, in milliseconds. It is drained after this time,
   * and at the latest after twice this time.
   */
  readonly keepAlive: number;
}

/**
 * A stream is reset when the client has read nothing of it at this number of checks in a row. While
 * memory is short, one check is enough.
 */
export const MAX_STALLS = 30;

/**
 * The maximum time for a client's response to the PING after the first GOAWAY of a drain, in
 * milliseconds.
 */
const DRAIN_PING_MS = 1_000;
/** The payload of that PING. */
const DRAIN_MARK = 1;

export abstract class ServerConnection extends Connection {
  /** When the frames that are being read arrived, in milliseconds of `performance.now()`. */
  arrived = 0;
  protected lastPeerStream = 0;
  readonly #socket: Duplex;
  readonly #headerTime: number;
  #prefaceHas = 0;
  /** Runs until the client's SETTINGS have arrived, and while a header block is incomplete. */
  #headerTimer: NodeJS.Timeout | undefined;
  #idleCheck: NodeJS.Timeout | undefined;
  #stallCheck: NodeJS.Timeout | undefined;
  #age: NodeJS.Timeout | undefined;
  #drainPing: NodeJS.Timeout | undefined;
  #drained = false;
  /** Whether there was no stream at the last check for idleness. */
  #wasIdle = false;
  /** The last stream of the client at that check. */
  #lastStreamChecked = 0;
  /** Bytes that waited for the socket at the last check for stalls. */
  #unreadBefore = 0;
  /** The number of such checks in a row at which the socket had accepted no bytes. */
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

  /**
   * A request has begun on a new stream. The subclass adds the stream to `streams`, or calls
   * `resetNew`.
   */
  protected abstract openStream(streamId: number, list: HeaderList, endStream: boolean): void;

  /**
   * Accepts no more requests, lets open ones finish, and closes. It sends two GOAWAYs (RFC 9113,
   * section 6.8). The first makes the client stop. When the client has responded to a PING, it has
   * certainly read the first. Then the second names the last request, so that no request is lost.
   */
  drain(): void {
    if (this.closed || this.#drainPing !== undefined) return;
    this.writer.goaway(LAST_STREAM_ID, ErrorCode.NO_ERROR, "");
    this.writer.ping(DRAIN_MARK);
    this.#drainPing = setTimeout(() => this.onPong(DRAIN_MARK), DRAIN_PING_MS);
  }

  /**
   * Drains a connection that had no stream at two checks in a row. Such checks cost a request
   * nothing, unlike a timer that each request restarts.
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

  /**
   * Called at each check for stalls. Returns how many checks in a row found bytes that wait for the
   * socket, when the socket had accepted none since the check before.
   */
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
      // A client that opens more streams than allowed is tolerated up to the limit of resets.
      if (this.#drained || this.streams.size >= MAX_STREAMS) this.resetNew(streamId, ErrorCode.REFUSED_STREAM);
      else this.openStream(streamId, list, endStream);
    }
  }

  /**
   * Whether a stream is new. False for a stream that this end has reset: frames in transit are
   * ignored.
   */
  #isNew(streamId: number): boolean {
    if (this.isIdle(streamId) && streamId % 2 === 1) return true;
    const ending = this.closedStreams.find(streamId);
    if (ending === "by us") return false;
    const code = ending === undefined ? ErrorCode.PROTOCOL_ERROR : ErrorCode.STREAM_CLOSED;
    throw new ConnectionError(code, `HEADERS on stream ${streamId}, which cannot be opened`);
  }

  /** Resets a stream whose first headers have just arrived. */
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

  /**
   * The client opens no more streams. It will close the connection when its open streams have
   * ended.
   */
  protected onGoaway(): void {
    this.#drained = true;
    this.requestFlush();
  }

  protected override onReleased(): void {
    if (this.#drained) this.requestFlush();
  }

  protected override onFlushed(): void {
    // The flush after the event "drain" calls this again.
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
