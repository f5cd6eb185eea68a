/**
 * The messages of a server-streaming endpoint as the body of a response, written as fast as the
 * client reads them.
 *
 * The response begins with the first message, at the end of an empty stream, or with the first
 * heartbeat of a silent stream, because clients give up on a response that does not begin. An error
 * before the response begins is an ordinary error with its own status. A later error is the last
 * frame.
 */
import { type Metadata, NO_METADATA } from "../../../../src/call/metadata.js";
import type { PassedMetadata } from "../../../catalog/passed-metadata.js";
import type { EndpointTarget } from "../../../catalog/target.js";
import type { BodySink, BodyStream } from "../../../http/body.js";
import { type Failure, MissingTypesError } from "../../../http/errors.js";
import { StreamCall, type StreamCallOptions } from "../../../stages/stream-call.js";
import { addMetadata } from "../../metadata.js";

/** How a stream of messages is written: NDJSON, server-sent events, or raw chunks. */
export interface StreamFormat {
  /**
   * The header Content-Type of a body that begins with this message. `first` is undefined if the
   * body begins without a message.
   */
  contentType(first: Uint8Array | undefined): string;
  /** @throws {HttpError} 502 when the bytes are not a message of the type */
  message(message: Uint8Array): string | Uint8Array;
  /**
   * The last frame of a stream that failed. Undefined if the format has none: then the body breaks
   * off.
   */
  failure(error: Failure, target: EndpointTarget): string | undefined;
  /** A frame without a message that keeps the connection open; undefined if the format has none. */
  readonly heartbeat: string | undefined;
  /** The last frame of a stream that succeeded. */
  readonly end: string | undefined;
  /** Whether the service's trailers are left out. */
  readonly dropsTrailers?: true;
}

/** Sends the messages of a request's body, where the request is a stream too. */
export interface RequestFeed {
  /** The service takes more messages, after a `send` that returned false. */
  onDrain(): void;
  /** The call is over. */
  stop(): void;
}

const DROPPED: BodySink = { write: () => true, end() {}, abort() {} };

/**
 * Opens the call at once. `contentType` resolves when the response may begin, and rejects if the
 * call fails before that.
 */
export class ResponseStream implements BodyStream {
  readonly contentType: Promise<string>;
  #headers: Metadata = NO_METADATA;
  readonly #options: StreamCallOptions;
  readonly #format: StreamFormat;
  readonly #call: StreamCall;
  readonly #metadata: PassedMetadata;
  readonly #feed: RequestFeed | undefined;
  readonly #heartbeat: NodeJS.Timeout;
  #begin!: (contentType: string) => void;
  #reject!: (error: Error) => void;
  #begun = false;
  #sink: BodySink | undefined;
  /** Frames that came before the response began: a message, or the end. */
  #pending: (string | Uint8Array)[] = [];
  /** The client does not read at present. */
  #full = false;
  #over = false;
  #broken = false;
  /** The trailers of the service. They are sent as trailers of HTTP/2. */
  #trailers: Metadata = NO_METADATA;
  #messages = 0;
  #bytes = 0;

  /** @param source the request message in wire bytes, or a function that begins to send messages */
  constructor(
    options: StreamCallOptions,
    source: Uint8Array | ((call: StreamCall) => RequestFeed),
    format: StreamFormat,
  ) {
    this.#options = options;
    this.#metadata = options.route.metadata ?? options.target.metadata;
    this.#format = format;
    this.contentType = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#reject = reject;
    });
    this.#call = new StreamCall(options, {
      onHeaders: (headers) => this.#onHeaders(headers),
      onMessage: (message) => this.#onMessage(message),
      onDrain: () => this.#feed?.onDrain(),
      onClose: (error, trailers) => this.#onClose(error, trailers),
    });
    this.#heartbeat = setInterval(() => this.#beat(), options.heartbeatMs);
    if (typeof source === "function") {
      this.#feed = source(this.#call);
      if (this.#over) this.#feed.stop();
    } else {
      this.#call.send(source);
      this.#call.end();
    }
  }

  /** Ends the stream at once, with the error as its last frame. */
  stop(error: Error): void {
    this.#call.stop(error);
  }

  /** Lets the call run to its end, and discards its messages. */
  drop(): void {
    this.open(DROPPED);
    this.onDrain();
  }

  open(sink: BodySink): void {
    this.#sink = sink;
    const pending = this.#pending;
    this.#pending = [];
    for (const chunk of pending) this.#full = !sink.write(chunk);
    if (this.#over) this.#close(sink);
    else if (!this.#full) this.#call.resume();
  }

  onDrain(): void {
    this.#full = false;
    this.#call.resume();
  }

  /** The headers of the service, without those that may not pass (`EndpointTarget.metadata`). */
  get metadata(): Metadata {
    return this.#metadata.select(this.#headers);
  }

  /** The HTTP status with which the response begins. */
  get status(): number {
    return this.#options.target.statuses?.ofStream(this.#headers) ?? 200;
  }

  #onHeaders(headers: Metadata): void {
    this.#headers = headers;
  }

  #onMessage(message: Uint8Array): void {
    try {
      const chunk = this.#format.message(message);
      this.#start(message);
      this.#messages++;
      this.#write(chunk);
      this.#heartbeat.refresh();
    } catch (error) {
      if (error instanceof MissingTypesError) throw error;
      this.stop(error as Error);
    }
  }

  #onClose(error: Error | undefined, trailers: Metadata): void {
    clearInterval(this.#heartbeat);
    this.#feed?.stop();
    this.#over = true;
    this.#trailers = this.#metadata.select(trailers);
    if (!this.#begun && error !== undefined) {
      this.#options.onMetadata(this.#headers, trailers);
      this.#reject(error);
      return;
    }
    const { onEnd } = this.#options;
    const failure = error && this.#options.toFailure(error);
    const last = failure === undefined ? this.#format.end : this.#format.failure(failure, this.#options.target);
    this.#broken = failure !== undefined && last === undefined;
    this.#start(undefined);
    if (last !== undefined) this.#write(last);
    if (this.#sink !== undefined) this.#close(this.#sink);
    onEnd({ status: failure?.status ?? this.status, messages: this.#messages, bytes: this.#bytes });
  }

  #start(first: Uint8Array | undefined): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#begin(this.#format.contentType(first));
  }

  /** A client that reads too slowly needs no heartbeat: messages are waiting for it. */
  #beat(): void {
    const { heartbeat } = this.#format;
    if (heartbeat === undefined || this.#full) return;
    this.#start(undefined);
    this.#write(heartbeat);
  }

  #write(chunk: string | Uint8Array): void {
    this.#bytes += typeof chunk === "string" ? Buffer.byteLength(chunk) : chunk.length;
    if (this.#sink === undefined) this.#pending.push(chunk);
    else this.#full = !this.#sink.write(chunk);
    if (this.#sink === undefined || this.#full) this.#call.pause();
  }

  #close(sink: BodySink): void {
    if (this.#broken) sink.abort();
    else sink.end(this.#format.dropsTrailers ? [] : addMetadata([], this.#trailers));
  }
}
