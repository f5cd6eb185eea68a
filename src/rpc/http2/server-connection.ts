/** A connection at the service's end: it opens a stream for each request, within limits, until it is drained. */
import type { Duplex } from "node:stream";
import { Code } from "../../errors.js";
import { Connection } from "../../http2/connection.js";
import { ConnectionError, ErrorCode, protocolError } from "../../http2/errors.js";
import { CONNECTION_WINDOW, STREAM_WINDOW } from "../../http2/flow-control.js";
import { LAST_STREAM_ID, PREFACE } from "../../http2/frames.js";
import { type HeaderList, isMalformed } from "../../http2/header-fields.js";
import { KeepAlive } from "../../http2/keep-alive.js";
import { DEFAULT_WINDOW, Setting, settingsFrame } from "../../http2/settings.js";
import { ContentLength } from "../../http2/stream.js";
import type { ConnectionMemory } from "../../memory-budget.js";
import type { Dispatcher } from "../dispatch.js";
import { Deadlines } from "../open-calls.js";
import { status } from "../status.js";
import { MAX_STREAMS, SERVER_KEEPALIVE, type ServerLimits } from "../transport.js";
import { HEADER_NAMES, httpRejectionOf, readHead } from "./headers.js";
import { RejectedStream } from "./rejected-stream.js";
import { ServerStream } from "./server-stream.js";

/** In milliseconds. */
export interface Times {
  /** After this a connection is drained. */
  readonly maxAge: number;
  /** How long a client may read nothing of a complete response before its stream is reset. */
  readonly stallTime: number;
  /** How often streams are checked whose messages wait for the client to read. */
  readonly stallCheck: number;
}

/** A stream of which the client has read nothing at so many checks in a row is reset; while memory is short at the first. */
const MAX_STALLS = 30;

/** How long a client may take to answer the PING behind the first GOAWAY of a drain, in milliseconds. */
const DRAIN_PING_MS = 1_000;
/** The payload of that PING. */
const DRAIN_MARK = 1;

export class ServerConnection extends Connection {
  readonly dispatcher: Dispatcher;
  readonly deadlines = new Deadlines();
  readonly peerAddress: string;
  readonly stallTime: number;
  arrived = 0;
  protected lastPeerStream = 0;
  readonly #limits: ServerLimits;
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

  /**
   * @param peerAddress of the other end, without port
   * @param memory of this connection, which closes it
   */
  constructor(
    socket: Duplex,
    peerAddress: string,
    dispatcher: Dispatcher,
    limits: ServerLimits,
    times: Times,
    memory: ConnectionMemory,
  ) {
    super(socket, { peer: "client", names: HEADER_NAMES, maxHeaders: limits.maxHeaders, memory });
    this.dispatcher = dispatcher;
    this.#limits = limits;
    this.peerAddress = peerAddress;
    this.stallTime = times.stallTime;
    const late = (): void => this.fail(ErrorCode.SETTINGS_TIMEOUT, "no SETTINGS came");
    this.#headerTimer = setTimeout(late, limits.headerTime);
    this.#idleCheck = setInterval(() => this.#checkIdle(), limits.keepAlive / 2).unref();
    this.#stallCheck = setInterval(() => this.#checkStalls(), times.stallCheck).unref();
    this.#age = setTimeout(() => this.drain(), times.maxAge);
    this.#age.unref();
    this.writer.raw(
      settingsFrame([
        [Setting.MAX_CONCURRENT_STREAMS, MAX_STREAMS],
        [Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW],
        [Setting.MAX_HEADER_LIST_SIZE, limits.maxHeaders],
      ]),
    );
    this.writer.windowUpdate(0, CONNECTION_WINDOW - DEFAULT_WINDOW);
    this.keepAlive = new KeepAlive(this, { ...SERVER_KEEPALIVE, idle: true });
    this.keepAlive.start();
  }

  /**
   * Takes no more calls, lets those in flight finish, and closes. In two steps (RFC 9113, section 6.8): a first GOAWAY has
   * the client stop; a second, when the client has answered a PING and so certainly read the first, names the last call, so
   * that no call is lost.
   */
  drain(): void {
    if (this.closed || this.#drainPing !== undefined) return;
    this.writer.goaway(LAST_STREAM_ID, ErrorCode.NO_ERROR, "");
    this.writer.ping(DRAIN_MARK);
    this.#drainPing = setTimeout(() => this.onPong(DRAIN_MARK), DRAIN_PING_MS);
  }

  /**
   * Drains a connection that had no stream at two checks in a row. Checks cost a call nothing, unlike a timer that each call
   * would set again.
   */
  #checkIdle(): void {
    const idle = this.streams.size === 0 && this.#lastStreamChecked === this.lastPeerStream;
    if (idle && this.#wasIdle) this.drain();
    this.#wasIdle = idle;
    this.#lastStreamChecked = this.lastPeerStream;
  }

  #checkStalls(): void {
    const maxStalls = this.memory.isShort ? 1 : MAX_STALLS;
    for (const stream of this.streams) {
      if (stream.countStall() < maxStalls) continue;
      this.reset(stream, ErrorCode.CANCEL);
      stream.onReset(ErrorCode.CANCEL);
    }
  }

  protected override onPong(mark: number): void {
    if (mark !== DRAIN_MARK || this.#drainPing === undefined || this.#drained) return;
    clearTimeout(this.#drainPing);
    this.#drained = true;
    this.writer.goaway(this.lastPeerStream, ErrorCode.NO_ERROR, "");
  }

  protected override receive(chunk: Buffer): void {
    this.arrived = Date.now();
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
    const stream = this.streams.get(streamId) as ServerStream | RejectedStream | undefined;
    if (stream !== undefined) {
      if (stream.remoteEnded) this.streamError(stream, ErrorCode.STREAM_CLOSED);
      else if (!endStream || list.tooLarge || isMalformed(list.fields, "trailers"))
        this.streamError(stream, ErrorCode.PROTOCOL_ERROR);
      else stream.onTrailers();
    } else if (this.#isNew(streamId)) {
      this.lastPeerStream = streamId;
      // A client that opens more streams than it may is tolerated up to the bound of resets.
      if (this.#drained || this.streams.size >= MAX_STREAMS) this.#resetNew(streamId, ErrorCode.REFUSED_STREAM);
      else this.#open(streamId, list, endStream);
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
  #resetNew(streamId: number, errorCode: number): void {
    this.spendReset();
    this.closedStreams.add(streamId, "by us");
    this.writer.reset(streamId, errorCode);
  }

  #open(streamId: number, { fields, tooLarge }: HeaderList, endStream: boolean): void {
    if (tooLarge) {
      this.#openTooLarge(streamId, endStream);
      return;
    }
    const head = readHead(fields);
    const length = head.contentLength === undefined ? undefined : new ContentLength(head.contentLength);
    if (isMalformed(fields, "request") || length?.receive(0, endStream) === false) {
      this.#resetNew(streamId, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    const httpStatus = httpRejectionOf(head);
    if (httpStatus !== undefined) {
      const stream = new RejectedStream(this, streamId, httpStatus, length);
      this.streams.add(stream);
      stream.open(endStream);
      return;
    }
    const stream = new ServerStream(this, streamId, this.#limits.maxBody, length);
    this.streams.add(stream);
    if (stream.reserve()) stream.open(head, fields, endStream);
    else stream.onNoMemory();
  }

  /** A request whose header list was not kept is answered with a status. */
  #openTooLarge(streamId: number, endStream: boolean): void {
    const stream = new ServerStream(this, streamId, this.#limits.maxBody, undefined);
    this.streams.add(stream);
    stream.remoteEnded = endStream;
    stream.end(status(Code.RESOURCE_EXHAUSTED, `the metadata is larger than ${this.#limits.maxHeaders} bytes`));
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
    this.#headerTimer = setTimeout(late, this.#limits.headerTime);
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
    if (this.#drained && this.streams.size === 0) this.end();
  }

  protected override onClosed(): void {
    this.deadlines.close();
    clearTimeout(this.#headerTimer);
    clearInterval(this.#idleCheck);
    clearInterval(this.#stallCheck);
    clearTimeout(this.#age);
    clearTimeout(this.#drainPing);
  }
}
