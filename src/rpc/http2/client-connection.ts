/** A connection at the caller's end: opens streams, as many as the server allows, until either end has had enough. */
import type { Duplex } from "node:stream";
import { Code } from "../../errors.js";
import { Connection, type KeepAlive } from "../../http2/connection.js";
import { ConnectionError, ErrorCode } from "../../http2/errors.js";
import { CONNECTION_WINDOW, STREAM_WINDOW } from "../../http2/flow-control.js";
import { FrameType, LAST_STREAM_ID, PREFACE } from "../../http2/frames.js";
import type { HeaderList } from "../../http2/hpack-decoder.js";
import { DEFAULT_WINDOW, Setting, settingsFrame } from "../../http2/settings.js";
import { type Field, sizeOf } from "../../http2/static-table.js";
import type { ConnectionMemory } from "../../memory-budget.js";
import { CONTENT_TYPE } from "../http-to-status.js";
import { status } from "../status.js";
import { ClientCall } from "./client-call.js";
import { roomOf } from "./headers.js";
import { ACCEPTED_ENCODINGS } from "./messages.js";

/** Who uses the connection. */
export interface ConnectionOwner {
  /** The server has introduced itself. */
  onReady(connection: ClientConnection): void;
  /** There may be room for another call. */
  onRoom(connection: ClientConnection): void;
  /** No more calls can be opened; those that are open go on. */
  onDraining(connection: ClientConnection, errorCode: number, debug: string): void;
  onClosed(connection: ClientConnection): void;
}

export interface ClientConnectionOptions {
  readonly scheme: "http" | "https";
  readonly authority: string;
  /** Most bytes of a header list. */
  readonly maxHeaders: number;
  /**
   * While calls are open, a connection on which nothing was read for `after` is tested with a PING, and closed where
   * nothing is read for `timeout` after it; in milliseconds. Undefined for a server that does not want to be tested.
   */
  readonly keepAlive: KeepAlive | undefined;
  readonly memory: ConnectionMemory;
}

/** The headers that all calls to a path have. */
export interface Request {
  readonly fields: readonly Field[];
  /** Bytes of a header block. */
  readonly room: number;
}

/**
 * How often it is looked whether anything was read, within `after`. Silence is counted in looks, not by the clock: so an
 * event loop of this process that stood still counts as one look.
 */
const LOOKS = 5;

/**
 * PINGs without HEADERS or DATA from the server in between. grpc-go and gRPC's C core close a connection at the third
 * (ENHANCE_YOUR_CALM, too_many_pings; gRFC A8), so a handler that is silent for longer is left alone.
 */
const MAX_PINGS = 2;

/** Paths whose headers are kept. */
const MAX_PATHS = 1_000;

export class ClientConnection extends Connection {
  /** The server has introduced itself, and its owner has found nothing wrong with it: calls may be opened. */
  ready = false;
  /** A call has been answered, be it with a failure. */
  served = false;
  /** Ids are never used twice (RFC 9113, section 5.1.1): a connection ends when there are none left. */
  nextStreamId = 1;
  readonly #owner: ConnectionOwner;
  readonly #options: ClientConnectionOptions;
  readonly #requests = new Map<string, Request>();
  #draining = false;
  #watch: NodeJS.Timeout | undefined;
  /** In milliseconds, by the looks since something was read. */
  #silence = 0;
  /** PINGs since HEADERS or DATA came. */
  #pings = 0;
  /** A PING has been sent, and nothing was read since. */
  #tested = false;

  /** @param socket connected */
  constructor(socket: Duplex, options: ClientConnectionOptions, owner: ConnectionOwner) {
    super(socket, "server", options.maxHeaders, options.memory);
    this.#options = options;
    this.#owner = owner;
    this.writeRaw(PREFACE);
    this.writeRaw(
      settingsFrame([
        [Setting.ENABLE_PUSH, 0],
        [Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW],
        [Setting.MAX_HEADER_LIST_SIZE, options.maxHeaders],
      ]),
    );
    this.writeWindowUpdate(0, CONNECTION_WINDOW - DEFAULT_WINDOW);
  }

  /** Whether a call may be opened now. */
  get hasRoom(): boolean {
    return this.ready && !this.#draining && !this.closed && this.streams.size < this.peer.maxStreams;
  }

  /** Opens a call; there is room. */
  open(call: ClientCall): void {
    const most = this.peer.maxHeaderListSize;
    if (most !== Number.POSITIVE_INFINITY && roomOf(call.metadata) > most) {
      call.fail(
        status(Code.RESOURCE_EXHAUSTED, `the metadata is larger than the ${most} bytes that the service takes`),
      );
      return;
    }
    const id = this.nextStreamId;
    this.nextStreamId += 2;
    call.attach(this, id);
    this.streams.add(call);
    if (this.#watch === undefined && this.#options.keepAlive !== undefined) this.#startWatch(this.#options.keepAlive);
    if (this.nextStreamId > LAST_STREAM_ID) this.drain(ErrorCode.NO_ERROR, "");
  }

  /** Opens no more calls, and ends when those that are open have ended. */
  drain(errorCode: number, debug: string): void {
    if (this.#draining) return;
    this.#draining = true;
    this.wake();
    this.#owner.onDraining(this, errorCode, debug);
  }

  #startWatch(keepAlive: KeepAlive): void {
    this.#silence = 0;
    const lookMs = keepAlive.after / LOOKS;
    this.#watch = setInterval(() => this.#look(keepAlive, lookMs), lookMs);
    this.#watch.unref();
  }

  #stopWatch(): void {
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  #look({ after, timeout }: KeepAlive, lookMs: number): void {
    if (this.streams.size === 0) {
      this.#stopWatch();
      return;
    }
    this.#silence += lookMs;
    if (this.#tested) {
      if (this.#silence >= after + timeout) this.destroy();
    } else if (this.#silence >= after && this.#pings < MAX_PINGS) {
      this.#pings++;
      this.#tested = true;
      this.writePing(0);
    }
  }

  protected override receive(chunk: Buffer): void {
    this.#silence = 0;
    this.#tested = false;
    super.receive(chunk);
  }

  override onFrame(type: number, flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    if (type === FrameType.DATA || type === FrameType.HEADERS) this.#pings = 0;
    super.onFrame(type, flags, streamId, buffer, start, end);
  }

  /** Ends the connection; its calls have been ended. */
  close(): void {
    this.fail(ErrorCode.NO_ERROR, "");
  }

  request(path: string): Request {
    const kept = this.#requests.get(path);
    if (kept !== undefined) return kept;
    const { scheme, authority } = this.#options;
    const fields = [
      { name: ":method", value: "POST" },
      { name: ":scheme", value: scheme },
      { name: ":path", value: path },
      { name: ":authority", value: authority },
      { name: "te", value: "trailers" },
      { name: "content-type", value: CONTENT_TYPE },
      { name: "grpc-accept-encoding", value: ACCEPTED_ENCODINGS },
      { name: "user-agent", value: "grpc-node-portico" },
    ];
    const request = { fields, room: fields.reduce((room, field) => room + sizeOf(field), 0) };
    if (this.#requests.size < MAX_PATHS) this.#requests.set(path, request);
    return request;
  }

  protected get lastPeerStream(): number {
    return 0;
  }

  protected isIdle(streamId: number): boolean {
    return streamId % 2 === 0 || streamId >= this.nextStreamId;
  }

  protected onHeaders(streamId: number, list: HeaderList, endStream: boolean): void {
    const call = this.streams.get(streamId);
    if (call instanceof ClientCall) {
      this.served = true;
      call.onHeaders(list, endStream);
    } else if (this.isIdle(streamId)) {
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `HEADERS on stream ${streamId}, which is idle`);
    }
  }

  protected onSettings(first: boolean): void {
    if (first) {
      this.#owner.onReady(this);
    } else {
      this.#owner.onRoom(this);
    }
  }

  protected onGoaway(lastStreamId: number, errorCode: number, debug: string): void {
    this.drain(errorCode, debug);
    for (const call of this.streams) if (call.id > lastStreamId) this.#unseen(call as ClientCall);
  }

  #unseen(call: ClientCall): void {
    this.release(call, "by us");
    call.onUnseen();
  }

  protected override onReleased(): void {
    if (this.#draining) this.wake();
    else this.#owner.onRoom(this);
  }

  protected override onFlushed(): void {
    if (this.#draining && this.streams.size === 0) this.close();
  }

  protected override onClosed(): void {
    this.#stopWatch();
    this.#owner.onClosed(this);
  }
}
