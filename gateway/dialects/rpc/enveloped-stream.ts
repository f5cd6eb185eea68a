/**
 * A streaming call in gRPC, gRPC-Web or Connect, of any shape. The messages of the request's body
 * go to the service, and the service's messages are the response's body. Each side sends as fast as
 * the other reads.
 *
 * The response begins with the service's headers or its first message. If neither arrives, it
 * begins after a while, because clients and proxies give up on a response that does not begin. An
 * error before the response begins is an error response. A later error is at the end of the body.
 */

import { LimitedError } from "../../../src/call/limited-call.js";
import { type Metadata, NO_METADATA } from "../../../src/call/metadata.js";
import { refusalMetadata } from "../../../src/call/rate-limit.js";
import { GrpcMessageReader, type MessageTaker } from "../../../src/rpc/http2/messages.js";
import { asBuffer } from "../../../src/wire/buffer.js";
import type { BodySink, BodyStream, ChunkFlow, ChunkReader } from "../../http/body.js";
import { compressAtOnce } from "../../http/content-coding.js";
import { HttpError, MissingTypesError, NO_MEMORY, notOneMessage } from "../../http/errors.js";
import type { BareResponse, GatewayRequest } from "../../http/message.js";
import { StreamCall, type StreamCallOptions } from "../../stages/stream-call.js";
import { addMetadata } from "../metadata.js";
import { Base64Decoder, encodeBase64 } from "./base64.js";
import { PROTO, type RpcCodec } from "./codec.js";
import { type ContentCoding, encodingOf, isWorthCompressing } from "./compression.js";
import { COMPRESSED, type EnvelopeProtocol, envelope } from "./protocol.js";

export interface EnvelopedStreamOptions {
  readonly protocol: EnvelopeProtocol;
  readonly codec: RpcCodec;
  readonly isText?: boolean;
  readonly maxMessage: number;
  readonly contentType: string;
}

export class EnvelopedStream implements BodyStream, ChunkReader, MessageTaker {
  /** Resolves when the response may begin, and rejects if the call fails before that. */
  readonly reply: Promise<BareResponse>;
  /** In an open stream the client may send nothing for any time. */
  readonly allowsSilence = true;
  readonly #options: StreamCallOptions;
  readonly #format: EnvelopedStreamOptions;
  readonly #call: StreamCall;
  readonly #reader: GrpcMessageReader;
  readonly #decoder: Base64Decoder | undefined;
  readonly #encoding: ContentCoding | undefined;
  readonly #opening: NodeJS.Timeout;
  readonly #flow: ChunkFlow | undefined;
  #begin!: (reply: BareResponse) => void;
  #reject!: (error: Error) => void;
  #begun = false;
  #sink: BodySink | undefined;
  /** Frames that came before the response began. */
  #pending: Uint8Array[] = [];
  #trailers: readonly string[] | undefined;
  /** The client does not read at present. */
  #full = false;
  /** The service takes no messages at present. */
  #blocked = false;
  /** The client sends no more messages. */
  #received = false;
  #over = false;
  readonly #count = { messages: 0, received: 0, bytes: 0 };

  /**
   * @param message the only message, in wire bytes; undefined if the messages are in the body,
   * which this class then reads
   */
  constructor(
    request: GatewayRequest,
    message: Uint8Array | undefined,
    options: StreamCallOptions,
    format: EnvelopedStreamOptions,
  ) {
    this.#options = options;
    this.#format = format;
    const { protocol, codec, isText } = format;
    const maxMessage = options.target.maxMessage(codec === PROTO, format.maxMessage);
    this.#encoding = protocol.responseEncoding(request.headers);
    this.#reader = new GrpcMessageReader(maxMessage, this);
    this.#reader.encoding = encodingOf(protocol.requestEncoding(request.headers)) ?? "identity";
    this.#decoder = isText ? new Base64Decoder() : undefined;
    this.reply = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#reject = reject;
    });
    this.#call = new StreamCall(options, {
      onHeaders: (headers) => this.#start(headers),
      onMessage: (response) => this.#send(response),
      onDrain: () => this.#unblock(),
      onClose: (error, trailers) => this.#finish(error, trailers),
    });
    this.#opening = setTimeout(() => this.#start(NO_METADATA), options.heartbeatMs);
    if (message === undefined) this.#flow = request.chunks(this);
    else {
      this.#count.received = 1;
      this.#received = true;
      this.#call.send(message);
      this.#call.end();
    }
  }

  /** Ends the call at once. */
  stop(error: Error): void {
    this.#call.stop(error);
  }

  // The request:

  onChunk(chunk: Uint8Array): boolean {
    if (this.#over) return true;
    try {
      const bytes = this.#decoder?.push(asBuffer(chunk)) ?? asBuffer(chunk);
      if (bytes.length > 0) this.#reader.push(bytes, 0, bytes.length);
      this.#pass();
    } catch (error) {
      this.stop(error as Error);
    }
    return !this.#blocked && !this.#reader.isBusy;
  }

  onEnd(): void {
    this.#received = true;
    if (this.#over || this.#blocked || this.#reader.isBusy) return;
    this.#endRequest();
  }

  onError(error: HttpError): void {
    this.stop(error);
  }

  /** Passes on the messages that have arrived, until the service takes no more. */
  #pass(): void {
    const { target } = this.#options;
    while (!this.#blocked && !this.#over) {
      const message = this.#reader.next();
      if (message === undefined) break;
      this.#count.received++;
      this.#blocked = !this.#call.send(this.#format.codec.read(target, message));
    }
    const reader = this.#reader;
    const isUnfinished = reader.hasMore && !this.#blocked && !reader.isBusy;
    if (this.#flow?.tryReserve?.(reader.held, isUnfinished) === false) throw NO_MEMORY;
  }

  #endRequest(): void {
    try {
      this.#decoder?.end();
      if (this.#reader.hasMore) throw new HttpError(400, "The body ends before the end of its last message");
      this.#call.end();
    } catch (error) {
      this.stop(error as Error);
    }
  }

  /** The service takes messages again. */
  #unblock(): void {
    if (!this.#blocked) return;
    this.#blocked = false;
    this.#goOn();
  }

  onMessageReady(): void {
    this.#goOn();
  }

  #goOn(): void {
    if (this.#over) return;
    try {
      this.#pass();
    } catch (error) {
      this.stop(error as Error);
    }
    if (this.#blocked || this.#over || this.#reader.isBusy) return;
    if (this.#received) this.#endRequest();
    else this.#flow?.resume();
  }

  // The response:

  open(sink: BodySink): void {
    this.#sink = sink;
    const pending = this.#pending;
    this.#pending = [];
    for (const frame of pending) this.#full = !sink.write(frame);
    if (this.#over) sink.end(this.#trailers);
    else if (!this.#full) this.#call.resume();
  }

  onDrain(): void {
    this.#full = false;
    this.#call.resume();
  }

  #send(message: Uint8Array): void {
    try {
      const { codec } = this.#format;
      const written = codec.write(this.#options.target, message);
      const encoding = isWorthCompressing(written, this.#options.target) ? this.#encoding : undefined;
      const compressed = encoding && compressAtOnce(encoding, written);
      this.#start(NO_METADATA);
      this.#count.messages++;
      if (compressed === undefined) this.#write(envelope(0, written));
      else this.#write(envelope(COMPRESSED, compressed));
    } catch (error) {
      if (error instanceof MissingTypesError) throw error;
      this.stop(error as Error);
    }
  }

  #finish(thrown: Error | undefined, trailers: Metadata): void {
    clearTimeout(this.#opening);
    this.#over = true;
    this.#flow?.stop();
    const { target, toFailure, onEnd } = this.#options;
    const { shape, service } = target.endpoint;
    const isWrongCount = shape === "client_streaming" && this.#count.messages !== 1;
    const error = thrown ?? (isWrongCount ? notOneMessage(service, this.#count.messages) : undefined);
    const passed = error instanceof LimitedError ? refusalMetadata(error) : target.metadata.select(trailers);
    if (!this.#begun && error !== undefined) {
      this.#options.onMetadata(NO_METADATA, trailers);
      this.#reject(error);
      return;
    }
    this.#start(NO_METADATA);
    const failure = error && toFailure(error);
    const end = this.#format.protocol.end(failure, passed);
    this.#trailers = end.trailers;
    if (end.frame !== undefined) this.#write(end.frame);
    this.#sink?.end(this.#trailers);
    onEnd({ status: failure?.status ?? 200, ...this.#count });
  }

  #start(metadata: Metadata): void {
    if (this.#begun) return;
    this.#begun = true;
    clearTimeout(this.#opening);
    const { protocol, contentType } = this.#format;
    const headers = [...protocol.headers, "X-Accel-Buffering", "no"];
    if (this.#encoding !== undefined) headers.push(protocol.encodingHeader, this.#encoding);
    addMetadata(headers, this.#options.target.metadata.select(metadata));
    this.#begin({ status: 200, headers, contentType, body: this });
  }

  #write(frame: Uint8Array): void {
    const bytes = this.#format.isText ? encodeBase64(frame) : frame;
    this.#count.bytes += bytes.length;
    if (this.#sink === undefined) this.#pending.push(bytes);
    else this.#full = !this.#sink.write(bytes);
    if (this.#sink === undefined || this.#full) this.#call.pause();
  }
}
