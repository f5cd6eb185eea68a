/** A connection at the caller's end. It opens a stream for each call, up to the server's limit. */
import type { Duplex } from "node:stream";
import { Code } from "../../errors.js";
import { Connection } from "../../http2/connection.js";
import { ErrorCode, protocolError } from "../../http2/errors.js";
import { CONNECTION_WINDOW, STREAM_WINDOW } from "../../http2/flow-control.js";
import { FrameType, LAST_STREAM_ID, PREFACE } from "../../http2/frames.js";
import type { HeaderList } from "../../http2/header-fields.js";
import { KeepAlive, type KeepAliveOptions } from "../../http2/keep-alive.js";
import { DEFAULT_WINDOW, Setting, settingsFrame } from "../../http2/settings.js";
import type { ConnectionMemory } from "../../memory/memory-budget.js";
import { status } from "../status.js";
import { ClientCall } from "./client-call.js";
import { HEADER_NAMES, sizeOfMetadata } from "./headers.js";

/** The channel that uses the connection. */
export interface ConnectionOwner {
  /** The server's SETTINGS have arrived. */
  onReady(connection: ClientConnection): void;
  /** The connection may have capacity for another call. */
  onCapacity(connection: ClientConnection): void;
  /** No more calls can be opened. Open calls continue. */
  onDraining(connection: ClientConnection, errorCode: number, debug: string): void;
  onClosed(connection: ClientConnection): void;
}

export interface ClientConnectionOptions {
  /** Maximum bytes of a header list. */
  readonly maxHeaders: number;
  /**
   * While calls are open, a connection on which nothing was read for `after` gets a PING. It is
   * closed when nothing is read for another `timeout`. Milliseconds. Undefined for a server that
   * does not accept PINGs as a test.
   */
  readonly keepAlive: Pick<KeepAliveOptions, "after" | "timeout"> | undefined;
  readonly memory: ConnectionMemory;
}

/**
 * The maximum number of PINGs without HEADERS or DATA from the server between them. grpc-go and
 * gRPC's C core close a connection at the third (ENHANCE_YOUR_CALM, too_many_pings; gRFC A8). So
 * while a handler stays silent for longer, its connection is not tested any more.
 */
const MAX_PINGS = 2;

export class ClientConnection extends Connection {
  /** Set by the owner when the connection is verified: calls may be opened. */
  ready = false;
  /** A call on this connection has got a response, perhaps with an error. */
  served = false;
  /** The server's first bytes were not SETTINGS, so it does not speak HTTP/2. */
  malformedStart = false;
  #settled = false;
  /**
   * The next stream ID. IDs are never used twice (RFC 9113, section 5.1.1), so a connection without
   * IDs left accepts no more calls.
   */
  nextStreamId = 1;
  readonly #owner: ConnectionOwner;
  #draining = false;

  /** @param socket a connected socket */
  constructor(socket: Duplex, options: ClientConnectionOptions, owner: ConnectionOwner) {
    const { maxHeaders, keepAlive, memory } = options;
    super(socket, { peer: "server", names: HEADER_NAMES, maxHeaders, memory });
    this.#owner = owner;
    if (keepAlive !== undefined)
      this.keepAlive = new KeepAlive(this, { ...keepAlive, maxPings: MAX_PINGS, idle: false });
    this.writer.raw(PREFACE);
    this.writer.raw(
      settingsFrame([
        [Setting.ENABLE_PUSH, 0],
        [Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW],
        [Setting.MAX_HEADER_LIST_SIZE, maxHeaders],
      ]),
    );
    this.writer.windowUpdate(0, CONNECTION_WINDOW - DEFAULT_WINDOW);
  }

  get hasCapacity(): boolean {
    return this.ready && !this.#draining && !this.closed && this.streams.size < this.peer.maxStreams;
  }

  /** Opens a call. `hasCapacity` must be true, except for calls that verify the connection. */
  open(call: ClientCall): void {
    const { maxHeaderListSize: max } = this.peer;
    if (max !== Number.POSITIVE_INFINITY && sizeOfMetadata(call.metadata) > max) {
      const message = `the metadata is larger than the ${max} bytes that the service takes`;
      call.fail(status(Code.RESOURCE_EXHAUSTED, message));
      return;
    }
    const id = this.nextStreamId;
    this.nextStreamId += 2;
    call.attach(this, id);
    this.streams.add(call);
    this.keepAlive?.start();
    if (this.nextStreamId > LAST_STREAM_ID) this.drain(ErrorCode.NO_ERROR, "");
  }

  /** Opens no more calls, and closes when the open calls have ended. */
  drain(errorCode: number, debug: string): void {
    if (this.#draining) return;
    this.#draining = true;
    this.requestFlush();
    this.#owner.onDraining(this, errorCode, debug);
  }

  override onFrame(type: number, flags: number, streamId: number, buffer: Buffer, start: number, end: number): void {
    if (type === FrameType.DATA || type === FrameType.HEADERS) this.keepAlive?.onProgress();
    super.onFrame(type, flags, streamId, buffer, start, end);
  }

  override fail(errorCode: number, message: string): void {
    this.malformedStart ||= !this.#settled && errorCode !== ErrorCode.NO_ERROR;
    super.fail(errorCode, message);
  }

  /** Closes the connection. Its calls have already ended. */
  close(): void {
    this.fail(ErrorCode.NO_ERROR, "");
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
      throw protocolError(`HEADERS on stream ${streamId}, which is idle`);
    }
  }

  protected onSettings(first: boolean): void {
    if (first) {
      this.#settled = true;
      this.#owner.onReady(this);
    } else {
      this.#owner.onCapacity(this);
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
    if (this.#draining) this.requestFlush();
    else this.#owner.onCapacity(this);
  }

  protected override onFlushed(): void {
    if (this.#draining && this.streams.size === 0) this.close();
  }

  protected override onClosed(): void {
    this.#owner.onClosed(this);
  }
}
