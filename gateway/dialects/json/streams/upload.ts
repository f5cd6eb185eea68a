/**
 * Uploads: calls of an endpoint that takes a stream of `google.api.HttpBody` and responds once. The
 * body of a POST is passed on as it arrives, and as fast as the service takes it. Each chunk is one
 * message; the first message has the content type.
 */
import { type Metadata, NO_METADATA } from "../../../../src/call/metadata.js";
import type { ChunkFlow, ChunkReader } from "../../../http/body.js";
import { notOneMessage } from "../../../http/errors.js";
import type { GatewayRequest } from "../../../http/message.js";
import { StreamCall, type StreamCallListener, type StreamCallOptions } from "../../../stages/stream-call.js";
import type { HttpBody } from "../bodies/http-body.js";
import type { RequestFeed } from "./response-stream.js";

/**
 * Sends the body of a request, and waits for the single response.
 * @param toMessage makes a message in wire bytes from a chunk
 * @throws {StatusError} (rejects) the service's error, or UNAVAILABLE if the service could not be
 * reached
 * @throws {HttpError} (rejects) 502 if it sent no response or several; or the error of the body
 * @throws {Error} (rejects) the reason for which the call was ended early
 */
export function upload(
  request: GatewayRequest,
  options: StreamCallOptions,
  toMessage: (chunk: HttpBody) => Uint8Array,
): Promise<Uint8Array> {
  // Where a chunk ends depends on the network, so chunks are no messages for limits of calls.
  const counted = { ...options, limited: undefined };
  return oneResponse(request, counted, (call) => new ChunkFeed(request, call, toMessage));
}

/**
 * Sends a stream of messages, and waits for the single response. It rejects like `upload`.
 * @param feed begins to send the messages
 */
export function oneResponse(
  request: GatewayRequest,
  options: StreamCallOptions,
  feed: (call: StreamCall) => RequestFeed,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const sending = new OneResponse(options, feed, resolve, reject);
    request.onAbort((reason) => sending.stop(reason));
  });
}

const NOTHING = new Uint8Array(0);

class OneResponse implements StreamCallListener {
  readonly #service: string;
  readonly #options: StreamCallOptions;
  readonly #call: StreamCall;
  readonly #feed: RequestFeed | undefined;
  #over = false;
  #headers: Metadata = NO_METADATA;
  #response: Uint8Array = NOTHING;
  #responses = 0;

  constructor(
    options: StreamCallOptions,
    feed: (call: StreamCall) => RequestFeed,
    readonly resolve: (response: Uint8Array) => void,
    readonly reject: (error: Error) => void,
  ) {
    this.#options = options;
    this.#service = options.admission.endpoint.service;
    this.#call = new StreamCall(options, this);
    this.#feed = feed(this.#call);
    if (this.#over) this.#feed.stop();
  }

  stop(error: Error): void {
    this.#call.stop(error);
  }

  onDrain(): void {
    this.#feed?.onDrain();
  }

  onHeaders(headers: Metadata): void {
    this.#headers = headers;
  }

  onMessage(message: Uint8Array): void {
    this.#response = message;
    this.#responses++;
  }

  onClose(error: Error | undefined, trailers: Metadata): void {
    this.#over = true;
    this.#feed?.stop();
    this.#options.onMetadata(this.#headers, trailers);
    if (error !== undefined) this.reject(error);
    else if (this.#responses === 1) this.resolve(this.#response);
    else this.reject(notOneMessage(this.#service, this.#responses));
  }
}

/** Sends each chunk of a body as one message. */
class ChunkFeed implements ChunkReader, RequestFeed {
  readonly #call: StreamCall;
  readonly #flow: ChunkFlow;
  /** The content type of the body; undefined once it has been sent. */
  #contentType: string | undefined;

  constructor(
    request: GatewayRequest,
    call: StreamCall,
    readonly toMessage: (chunk: HttpBody) => Uint8Array,
  ) {
    this.#call = call;
    this.#contentType = request.headers.contentType ?? "";
    this.#flow = request.chunks(this);
  }

  onChunk(data: Uint8Array): boolean {
    const contentType = this.#contentType ?? "";
    this.#contentType = undefined;
    return this.#call.send(this.toMessage({ contentType, data }));
  }

  onEnd(): void {
    // The content type of an empty body is sent, too.
    if (this.#contentType !== undefined) this.onChunk(NOTHING);
    this.#call.end();
  }

  onError(error: Error): void {
    this.#call.stop(error);
  }

  onDrain(): void {
    this.#flow.resume();
  }

  stop(): void {
    this.#flow.stop();
  }
}
