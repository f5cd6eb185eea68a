/** One request over HTTP/2 and its response: a stream (RFC 9113 §8.1). */
import type { ClientMemory, RequestMemory } from "../../../src/memory/memory-budget.js";
import { HttpError } from "../../http/errors.js";
import type { GatewayRequest, GatewayResponse } from "../../http/message.js";
import { Abort } from "../abort.js";
import { GONE } from "../request-errors.js";
import type { Http2RequestHead } from "./request-head.js";
import { type Http2Owner, NEVER, RequestStream } from "./request-stream.js";

const MALFORMED = new HttpError(400, "The body is not as long as its Content-Length says, or breaks HTTP/2");

export class Http2Exchange extends RequestStream implements GatewayRequest {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly sendsTrailers = true;
  error: HttpError | undefined;
  /** The memory of the client, where a proxy names one. */
  #client: ClientMemory | undefined;
  #isReleased = false;
  /**
   * The request is rejected in an overload: no more of the body is asked for, and the response is
   * delayed.
   */
  #isRefused = false;
  /**
   * The response that is delayed. It is dropped with the stream if the client resets the stream.
   */
  #refusal: GatewayResponse | undefined;
  /** We reset the stream because of an error of the client. */
  #malformed = false;
  readonly #abort = new Abort();

  constructor(connection: Http2Owner, id: number, head: Http2RequestHead) {
    super(connection, id, head);
    this.method = head.method;
    this.target = head.target;
    this.rawHeaders = head.rawHeaders;
    this.error = head.error;
  }

  get protocolVersion(): string {
    return "2";
  }

  get remoteAddress(): string {
    return this.connection.remotePeer.clientOf(this);
  }

  get isProxied(): boolean {
    return this.connection.remotePeer.isProxy;
  }

  protected override memoryOf(connection: Http2Owner): RequestMemory {
    if (!connection.remotePeer.isProxy) return connection.memory;
    if (this.#client === undefined && !this.#isReleased) this.#client = connection.openClient(this);
    return this.#client ?? connection.memory;
  }

  override releaseMemory(): void {
    super.releaseMemory();
    this.#isReleased = true;
    this.#client?.close();
    this.#client = undefined;
  }

  // How it ends.

  // Receives no more of the body, and delays the response. Until the response is written, the
  // stream counts towards the maximum of open streams. That slows the client down.
  throttle(): void {
    this.#isRefused = true;
    this.stopReading();
  }

  /** The handler has responded. */
  onResponse(response: GatewayResponse): void {
    if (this.#isRefused && !this.gone && this.connection.tryThrottle()) this.#refusal = response;
    else this.respond(response);
  }

  /** Rejections are no longer delayed. */
  onThrottleEnd(): void {
    const response = this.#refusal;
    this.#refusal = undefined;
    if (response !== undefined) this.respond(response);
  }

  protected override acknowledge(): void {
    if (!this.#isRefused) super.acknowledge();
  }

  onAbort(listener: (reason: HttpError) => void): void {
    this.#abort.listen(listener);
  }

  /** Ends the exchange as soon as possible. */
  abort(reason: HttpError): void {
    if (this.#abort.reason !== undefined || this.localEnded) return;
    this.#abort.reason = reason;
    this.fail(reason);
    this.#abort.notify(reason);
  }

  protected override endCall(): void {
    this.#abort.forget();
    super.endCall();
  }

  onReset(_errorCode: number): void {
    this.#leave(this.#malformed ? MALFORMED : GONE);
  }

  onLost(): void {
    this.#leave(GONE);
    this.releaseMemory();
  }

  /** The stream is about to be reset because of an error of the client. */
  onMalformed(): void {
    this.#malformed = true;
  }

  #leave(reason: HttpError): void {
    if (this.gone) return;
    this.gone = true;
    this.deadlineMonotonicMs = NEVER;
    this.endUnfinished();
    this.dropResponse();
    this.abort(reason);
  }
}
