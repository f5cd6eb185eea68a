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
  return new Promise((resolve, reject) => {
    const sending = new Upload(request, options, toMessage, resolve, reject);
    request.onAbort((reason) => sending.stop(reason));
  });
}

const NOTHING = new Uint8Array(0);

class Upload implements ChunkReader, StreamCallListener {
  readonly #service: string;
  readonly #options: StreamCallOptions;
  readonly #call: StreamCall;
  readonly #flow: ChunkFlow;
  /** The content type of the body; undefined once it has been sent. */
  #contentType: string | undefined;
  #headers: Metadata = NO_METADATA;
  #response: Uint8Array = NOTHING;
  #responses = 0;

  constructor(
    request: GatewayRequest,
    options: StreamCallOptions,
    readonly toMessage: (chunk: HttpBody) => Uint8Array,
    readonly resolve: (response: Uint8Array) => void,
    readonly reject: (error: Error) => void,
  ) {
    this.#options = options;
    this.#service = options.admission.endpoint.service;
    this.#contentType = request.headers.contentType ?? "";
    this.#call = new StreamCall(options, this);
    this.#flow = request.chunks(this);
  }

  stop(error: Error): void {
    this.#call.stop(error);
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
    this.stop(error);
  }

  onDrain(): void {
    this.#flow.resume();
  }

  onHeaders(headers: Metadata): void {
    this.#headers = headers;
  }

  onMessage(message: Uint8Array): void {
    this.#response = message;
    this.#responses++;
  }

  onClose(error: Error | undefined, trailers: Metadata): void {
    this.#flow.stop();
    this.#options.onMetadata(this.#headers, trailers);
    if (error !== undefined) this.reject(error);
    else if (this.#responses === 1) this.resolve(this.#response);
    else this.reject(notOneMessage(this.#service, this.#responses));
  }
}
