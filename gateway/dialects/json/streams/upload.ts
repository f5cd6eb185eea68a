/**
 * The call of an endpoint that takes a stream of `google.api.HttpBody` and answers once. The body of a plain request is
 * sent on as it comes and as fast as the service takes it: a piece a message, the content type in the first.
 */

import type { GatewayRequest, PieceFlow, PieceReader } from "../../../http.js";
import { StreamCall, type StreamCallOptions, type StreamListener } from "../../../stages/stream-call.js";
import { notOne } from "../../../stages/unary-call.js";
import { encodeHttpBody } from "../bodies/http-body.js";

/**
 * Sends the body of a request and waits for the one answer.
 * @throws {StatusError} (rejects) as the service ended the call, or UNAVAILABLE when it could not be reached.
 * @throws {HttpError} (rejects) 502 when it answered with none or with several messages, or what the body failed with.
 * @throws {Error} (rejects) the reason for which it was ended early.
 */
export function upload(request: GatewayRequest, contentType: string, options: StreamCallOptions): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const sending = new Upload(request, contentType, options, resolve, reject);
    request.onGone((why) => sending.stop(why));
  });
}

const NOTHING = new Uint8Array(0);

class Upload implements PieceReader, StreamListener {
  readonly #service: string;
  readonly #call: StreamCall;
  readonly #flow: PieceFlow;
  readonly #resolve: (answer: Uint8Array) => void;
  readonly #reject: (error: Error) => void;
  /** Of the body; undefined when it has been sent. */
  #contentType: string | undefined;
  #answer: Uint8Array = NOTHING;
  #answers = 0;

  constructor(
    request: GatewayRequest,
    contentType: string,
    options: StreamCallOptions,
    resolve: (answer: Uint8Array) => void,
    reject: (error: Error) => void,
  ) {
    this.#service = options.admission.endpoint.service;
    this.#contentType = contentType;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#call = new StreamCall(options, this);
    this.#flow = request.pieces(this);
  }

  stop(error: Error): void {
    this.#call.stop(error);
  }

  onPiece(data: Uint8Array): boolean {
    const contentType = this.#contentType ?? "";
    this.#contentType = undefined;
    return this.#call.send(encodeHttpBody({ contentType, data }));
  }

  onEnd(): void {
    // An empty body has a content type too.
    if (this.#contentType !== undefined) this.onPiece(NOTHING);
    this.#call.end();
  }

  onFault(fault: Error): void {
    this.stop(fault);
  }

  onDrain(): void {
    this.#flow.resume();
  }

  onMessage(message: Uint8Array): void {
    this.#answer = message;
    this.#answers++;
  }

  onOver(error: Error | undefined): void {
    this.#flow.stop();
    if (error !== undefined) this.#reject(error);
    else if (this.#answers === 1) this.#resolve(this.#answer);
    else this.#reject(notOne(this.#service, this.#answers));
  }
}
