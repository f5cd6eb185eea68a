/**
 * A streaming call on a WebSocket: one JSON message per text frame in both directions. Each side
 * sends as fast as the other reads.
 *
 * WebSockets have no half-close, so an empty text frame says that the client sends no more. If the
 * call succeeds, the gateway closes with 1000. If it fails, the gateway sends the error object as
 * the last text frame, and closes with 4000 plus the HTTP status and with the Detail as the reason.
 * A client that closes first ends the call.
 */
import { HttpError, MissingTypesError, notOneMessage } from "../../../http/errors.js";
import type { MessageSocket, SocketSession } from "../../../http/message.js";
import { StreamCall, type StreamCallOptions } from "../../../stages/stream-call.js";
import { EMPTY_OBJECT, writeJson } from "../message.js";
import { toErrorObject } from "./stream-error.js";

const OK = 1000;
/** Codes from 4000 on are reserved for applications (RFC 6455 §7.4.2). */
const FIRST_STATUS = 4000;
/** Maximum bytes of a close reason (RFC 6455 §5.5.1). */
const MAX_REASON = 123;

export class WebSocketCall implements SocketSession {
  readonly #options: StreamCallOptions;
  #socket: MessageSocket | undefined;
  #call: StreamCall | undefined;
  /** The client sends no more messages. */
  #ended = false;
  #over = false;
  #received = 0;
  #messages = 0;
  #bytes = 0;

  constructor(options: StreamCallOptions) {
    this.#options = options;
  }

  open(socket: MessageSocket): void {
    this.#socket = socket;
    this.#call = new StreamCall(this.#options, {
      onMessage: (message) => this.#send(message),
      onDrain: () => socket.resume(),
      onClose: (error) => this.#finish(error),
    });
  }

  /** Ends the call at once, with the error as the last frame. */
  stop(error: Error): void {
    if (this.#call === undefined) this.#finish(error);
    else this.#call.stop(error);
  }

  onMessage(text: Uint8Array | undefined): void {
    if (this.#over) return;
    try {
      if (text === undefined) throw new HttpError(415, "A message must be JSON in a text frame, not in a binary one");
      if (text.length === 0) this.#end();
      else if (this.#ended) throw new HttpError(400, "The last message has been sent already");
      else this.#pass(text);
    } catch (error) {
      this.stop(error as Error);
    }
  }

  onDrain(): void {
    this.#call?.resume();
  }

  #pass(text: Uint8Array): void {
    const { target } = this.#options;
    const message = target.request.read(text);
    this.#received++;
    if (this.#call?.send(message) === false) this.#socket?.pause();
    if (target.endpoint.shape === "server_streaming") this.#end();
  }

  /**
   * If the endpoint needs a message and the client sent none, the message is empty, as in a POST
   * without a body.
   */
  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { endpoint, request } = this.#options.target;
    if (endpoint.shape === "server_streaming" && this.#received === 0) this.#call?.send(request.read(EMPTY_OBJECT));
    this.#call?.end();
  }

  #send(message: Uint8Array): void {
    try {
      const json = writeJson(this.#options.target, message);
      this.#messages++;
      if (!this.#write(json)) this.#call?.pause();
    } catch (error) {
      if (error instanceof MissingTypesError) throw error;
      this.stop(error as Error);
    }
  }

  #write(text: string): boolean {
    this.#bytes += Buffer.byteLength(text);
    return this.#socket?.send(text) ?? true;
  }

  #finish(thrown: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    const { target, onEnd } = this.#options;
    const { service, shape } = target.endpoint;
    const isWrongCount = shape === "client_streaming" && this.#messages !== 1;
    const error = thrown ?? (isWrongCount ? notOneMessage(service, this.#messages) : undefined);
    const failure = error && this.#options.toFailure(error);
    if (failure === undefined) this.#socket?.close(OK, "");
    else {
      const body = toErrorObject(failure, target);
      this.#write(body);
      this.#socket?.close(FIRST_STATUS + failure.status, shortened(JSON.parse(body).Detail));
    }
    const status = failure?.status ?? 200;
    onEnd({ status, messages: this.#messages, received: this.#received, bytes: this.#bytes });
  }
}

/** The beginning of a text, as a close reason. */
function shortened(text: string): string {
  let short = text.slice(0, MAX_REASON);
  while (Buffer.byteLength(short) > MAX_REASON) short = short.slice(0, -1);
  return short;
}
