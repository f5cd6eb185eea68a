/**
 * One call of @grpc/grpc-js. It uses the call object below that library's clients. It sends and
 * receives bytes, and handles unary calls and streams in the same way. It asks for each message, so
 * `pause` stops exactly after the current one.
 */
import { connectivityState, type Channel as GrpcJsChannel, type Metadata as GrpcMetadata } from "@grpc/grpc-js";
import { Code } from "../../errors.js";
import { ErrorCode } from "../../http2/errors.js";
import { toWallClock } from "../../time.js";
import { asBuffer } from "../../wire/buffer.js";
import { type CallListener, type CallStart, type OutgoingCall, type Status, sentMetadata } from "../channel.js";
import type { Indexed, IndexedList } from "../open-calls.js";
import {
  cancelled,
  connectionLost,
  deadlineExceeded,
  isGrpc,
  notGrpc,
  protocolError,
  statusOfHttp,
  statusOfReset,
  unsendable,
} from "../status.js";
import { errorCodeOf, fromGrpc, fromGrpcStatus, replaceGrpcMessage, toGrpc } from "./convert.js";

type GrpcJsCall = ReturnType<GrpcJsChannel["createCall"]>;

export class GrpcCall implements OutgoingCall, Indexed {
  index = -1;
  readonly #listener: CallListener;
  readonly #open: IndexedList<GrpcCall>;
  #call: GrpcJsCall | undefined;
  /**
   * Messages that wait to be sent. grpc-js takes one at a time, and the half-close after the last
   * one.
   */
  readonly #waiting: Uint8Array[] = [];
  #sending = false;
  #halfClosed = false;
  /** `send` has returned false, and `onDrain` must follow. */
  #full = false;
  #paused = false;
  /** A message was asked for and has not arrived. */
  #reading = false;
  /**
   * A message that arrived after the caller had paused, and the OK status that must not overtake
   * it.
   */
  #held: Uint8Array | undefined;
  #heldStatus: Status | undefined;
  #ended = false;
  /** The message for the caller when the response's content type is not gRPC's. */
  #notGrpc: string | undefined;
  #expiry: NodeJS.Timeout | undefined;

  constructor(listener: CallListener, open: IndexedList<GrpcCall>) {
    this.#listener = listener;
    this.#open = open;
    open.add(this);
  }

  /**
   * Ends the call at its deadline, unless the call is started before. Afterwards grpc-js watches
   * the deadline.
   */
  expireAt(deadlineMonotonicMs: number | undefined): void {
    if (deadlineMonotonicMs === undefined) return;
    this.#expiry = setTimeout(
      () => this.fail(deadlineExceeded()),
      Math.max(deadlineMonotonicMs - performance.now(), 0),
    );
  }

  start(channel: GrpcJsChannel, start: CallStart): void {
    clearTimeout(this.#expiry);
    if (this.#ended) return;
    let metadata: GrpcMetadata;
    try {
      metadata = toGrpc(sentMetadata(start));
    } catch (error) {
      this.fail(unsendable(error as Error));
      return;
    }
    const deadlineMonotonicMs =
      start.deadlineMonotonicMs === undefined ? Number.POSITIVE_INFINITY : toWallClock(start.deadlineMonotonicMs);
    this.#call = channel.createCall(start.path, deadlineMonotonicMs, null, null, null);
    this.#call.start(metadata, {
      onReceiveMetadata: (headers) => {
        if (this.#ended) return;
        const [type] = headers.get("content-type") as string[];
        if (isGrpc(type)) this.#listener.onHeaders?.(fromGrpc(headers));
        else this.#notGrpc = notGrpc(type);
      },
      onReceiveMessage: (message: Buffer) => {
        if (this.#ended) return;
        if (this.#notGrpc !== undefined) this.#drop();
        else if (this.#paused) this.#held = message;
        else this.#take(message);
      },
      onReceiveStatus: (received) => {
        const errorCode = received.code === 0 ? undefined : errorCodeOf(received.details);
        if (errorCode === undefined) this.#onStatus(fromGrpcStatus(received));
        else this.#onReset(errorCode, channel, start.deadlineMonotonicMs);
      },
    });
    this.#read();
    this.#flush();
  }

  send(message: Uint8Array): boolean {
    if (this.#ended || this.#halfClosed) return true;
    this.#waiting.push(message);
    this.#flush();
    this.#full = this.#waiting.length > 0;
    return !this.#full;
  }

  end(): void {
    if (this.#halfClosed) return;
    this.#halfClosed = true;
    if (!this.#sending && this.#waiting.length === 0) this.#call?.halfClose();
  }

  cancel(): void {
    this.fail(cancelled());
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    if (this.#held === undefined) this.#read();
    else queueMicrotask(() => this.#release());
  }

  fail(ending: Status): void {
    if (this.#ended) return;
    this.#close();
    this.#call?.cancelWithStatus(Code.CANCELLED as number, "Cancelled");
    queueMicrotask(() => this.#listener.onEnd(ending));
  }

  #onStatus(received: Status): void {
    const ending = replaceGrpcMessage(received, this.#notGrpc);
    if (this.#held !== undefined && ending.code === Code.OK) this.#heldStatus = ending;
    else this.#end(ending);
  }

  /**
   * Node reports a lost connection as a reset of its streams, and only then as the end of the
   * connection.
   */
  #onReset(errorCode: number, channel: GrpcJsChannel, deadlineMonotonicMs = Number.POSITIVE_INFINITY): void {
    setImmediate(() => {
      if (channel.getConnectivityState(false) !== connectivityState.READY) this.#end(connectionLost());
      else if (this.#notGrpc !== undefined) this.#end(protocolError(Code.UNKNOWN, this.#notGrpc));
      else if (errorCode === ErrorCode.NO_ERROR) this.#end(statusOfHttp(200));
      else this.#end(statusOfReset(errorCode, deadlineMonotonicMs));
    });
  }

  /** Ignores a message of a response that is not gRPC, and asks for the next one. */
  #drop(): void {
    this.#reading = false;
    this.#read();
  }

  #take(message: Uint8Array): void {
    this.#reading = false;
    this.#listener.onMessage(message);
    this.#read();
  }

  #release(): void {
    const message = this.#held;
    if (message === undefined || this.#paused || this.#ended) return;
    this.#held = undefined;
    this.#take(message);
    if (this.#heldStatus !== undefined) this.#end(this.#heldStatus);
  }

  #read(): void {
    if (this.#paused || this.#reading || this.#ended) return;
    this.#reading = true;
    this.#call?.startRead();
  }

  #flush(): void {
    if (this.#sending || this.#call === undefined) return;
    const message = this.#waiting.shift();
    if (message === undefined) {
      if (this.#halfClosed) this.#call?.halfClose();
      return;
    }
    this.#sending = true;
    this.#call?.sendMessageWithContext({ callback: () => process.nextTick(() => this.#sent()) }, asBuffer(message));
  }

  #sent(): void {
    this.#sending = false;
    if (this.#ended) return;
    this.#flush();
    if (!this.#full || this.#waiting.length > 0) return;
    this.#full = false;
    this.#listener.onDrain?.();
  }

  #end(ending: Status): void {
    if (this.#ended) return;
    this.#close();
    this.#listener.onEnd(ending);
  }

  #close(): void {
    this.#ended = true;
    clearTimeout(this.#expiry);
    this.#open.delete(this);
    this.#waiting.length = 0;
  }
}
