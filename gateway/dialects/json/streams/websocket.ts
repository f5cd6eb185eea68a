/**
 * A streaming call on a WebSocket: one JSON message a text frame either way, each side as fast as the other takes it.
 *
 * WebSockets know no half-close, so an empty text frame says that the client sends no more. It is the gateway that
 * closes: with 1000 when the call went well; else with 4000 and the HTTP status, and the Detail as reason, after the whole
 * error object as the last text frame. A client that closes first ends the call.
 */

import type { Target } from "../../../catalog/routes.js";
import { type ErrorAnswer, HttpError } from "../../../errors.js";
import type { MessageSocket, SocketSession } from "../../../http.js";
import { StreamCall, type StreamCallOptions } from "../../../stages/stream-call.js";
import { notOne } from "../../../stages/unary-call.js";
import { NO_FIELDS, writeJson } from "../json.js";
import type { StreamEnd } from "./response-stream.js";

export interface StreamSocketOptions extends StreamCallOptions {
  readonly target: Target;
  /** What to tell of a failure. */
  readonly explain: (error: Error) => ErrorAnswer;
  readonly onEnd: (end: SocketEnd) => void;
}

export interface SocketEnd extends StreamEnd {
  /** How many came from the client. */
  readonly received: number;
}

const OK = 1000;
/** Codes from here on are an application's own (RFC 6455 §7.4.2). */
const FIRST_STATUS = 4000;
const MOST_REASON = 123;

export class StreamSocket implements SocketSession {
  readonly #options: StreamSocketOptions;
  #socket: MessageSocket | undefined;
  #call: StreamCall | undefined;
  /** The client sends no more. */
  #ended = false;
  #over = false;
  #received = 0;
  #messages = 0;
  #bytes = 0;

  constructor(options: StreamSocketOptions) {
    this.#options = options;
  }

  open(socket: MessageSocket): void {
    this.#socket = socket;
    this.#call = new StreamCall(this.#options, {
      onMessage: (message) => this.#send(message),
      onDrain: () => socket.resume(),
      onOver: (error) => this.#finish(error),
    });
  }

  /** Ends it now, and says why in the last frame. */
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

  /** Where one request is due and none came, it is one without fields, as of a POST without a body. */
  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { endpoint, request } = this.#options.target;
    if (endpoint.shape === "server_streaming" && this.#received === 0) this.#call?.send(request.read(NO_FIELDS));
    this.#call?.end();
  }

  #send(message: Uint8Array): void {
    try {
      const json = writeJson(this.#options.target, message);
      this.#messages++;
      if (!this.#write(json)) this.#call?.pause();
    } catch (error) {
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
    const { target, explain, onEnd } = this.#options;
    const { service, shape } = target.endpoint;
    const wrong = shape === "client_streaming" && this.#messages !== 1 ? notOne(service, this.#messages) : undefined;
    const error = thrown ?? wrong;
    const answer = error && explain(error);
    if (answer === undefined) this.#socket?.close(OK, "");
    else {
      this.#write(answer.body);
      this.#socket?.close(FIRST_STATUS + answer.status, shortened(JSON.parse(answer.body).Detail));
    }
    const status = answer?.status ?? 200;
    onEnd({ status, messages: this.#messages, received: this.#received, bytes: this.#bytes });
  }
}

/** A reason for closing, which may have 123 bytes (RFC 6455 §5.5.1). */
function shortened(text: string): string {
  let short = text.slice(0, MOST_REASON);
  while (Buffer.byteLength(short) > MOST_REASON) short = short.slice(0, -1);
  return short;
}
