/**
 * The answer of a server-streaming endpoint as the body of an HTTP response, written as the messages come and as fast as
 * the client takes them.
 *
 * The response begins with the first message, with the end of a stream that has none, or with the first heartbeat of one
 * that is silent: proxies and clients give up on an answer that does not begin. What fails before is an ordinary
 * error with its own HTTP status; what fails later is told in the last frame.
 */
import type { ErrorAnswer } from "../../../errors.js";
import type { BodySink, BodyStream } from "../../../http.js";
import { StreamCall, type StreamCallOptions, type StreamListener } from "../../../stages/stream-call.js";

/** How a stream of messages is written. */
export interface Frames {
  /** The header Content-Type, for a body that begins with this message; undefined where there is none yet. */
  contentType(first: Uint8Array | undefined): string;
  /** @throws {HttpError} 502 when the bytes are not a message of the type. */
  message(message: Uint8Array): string | Uint8Array;
  /** An error object as the last frame; undefined where it cannot be told, and the body breaks off instead. */
  failure(error: string): string | undefined;
  /** Says nothing, to keep the connection; undefined where that cannot be done. */
  readonly heartbeat: string | undefined;
  /** The last frame of a stream that ended well. */
  readonly end: string | undefined;
}

/** How a stream ended. */
export interface StreamEnd {
  /** HTTP status; not the one that was sent at the beginning. */
  readonly status: number;
  /** How many were sent to the client. */
  readonly messages: number;
  readonly bytes: number;
}

export interface StreamBodyOptions extends StreamCallOptions {
  /** The request. */
  readonly message: Uint8Array;
  readonly frames: Frames;
  /** What to tell of a failure. */
  readonly explain: (error: Error) => ErrorAnswer;
  /** Not called for a stream that failed before it began. */
  readonly onEnd: (end: StreamEnd) => void;
  /** A silent stream gets a heartbeat each time this has passed, in milliseconds. */
  readonly heartbeatMs: number;
}

/** Opens the call. `contentType` resolves when the response may begin, and rejects with what failed before. */
export class StreamBody implements BodyStream, StreamListener {
  readonly contentType: Promise<string>;
  readonly #options: StreamBodyOptions;
  readonly #call: StreamCall;
  readonly #heartbeat: NodeJS.Timeout;
  #begin!: (contentType: string) => void;
  #refuse!: (error: Error) => void;
  #begun = false;
  #sink: BodySink | undefined;
  /** What came before the response was begun: a message, or the end. */
  #held: (string | Uint8Array)[] = [];
  /** The client takes no more for now. */
  #full = false;
  #over = false;
  #broken = false;
  #messages = 0;
  #bytes = 0;

  constructor(options: StreamBodyOptions) {
    this.#options = options;
    this.contentType = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#refuse = reject;
    });
    this.#call = new StreamCall(options, this);
    this.#call.send(options.message);
    this.#call.end();
    this.#heartbeat = setInterval(() => this.#beat(), options.heartbeatMs);
  }

  /** Ends it now, and says why in the last frame. */
  stop(error: Error): void {
    this.#call.stop(error);
  }

  open(sink: BodySink): void {
    this.#sink = sink;
    const held = this.#held;
    this.#held = [];
    for (const piece of held) this.#full = !sink.write(piece);
    if (this.#over) this.#close(sink);
    else if (!this.#full) this.#call.resume();
  }

  onDrain(): void {
    this.#full = false;
    this.#call.resume();
  }

  onMessage(message: Uint8Array): void {
    try {
      const piece = this.#options.frames.message(message);
      this.#start(message);
      this.#messages++;
      this.#write(piece);
      this.#heartbeat.refresh();
    } catch (error) {
      this.stop(error as Error);
    }
  }

  onOver(error: Error | undefined): void {
    clearInterval(this.#heartbeat);
    this.#over = true;
    if (!this.#begun && error !== undefined) {
      this.#refuse(error);
      return;
    }
    const { frames, explain, onEnd } = this.#options;
    const answer = error && explain(error);
    const last = answer === undefined ? frames.end : frames.failure(answer.body);
    this.#broken = answer !== undefined && last === undefined;
    this.#start(undefined);
    if (last !== undefined) this.#write(last);
    if (this.#sink !== undefined) this.#close(this.#sink);
    onEnd({ status: answer?.status ?? 200, messages: this.#messages, bytes: this.#bytes });
  }

  #start(first: Uint8Array | undefined): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#begin(this.#options.frames.contentType(first));
  }

  /** To a client that does not keep up nothing need be said: it has something to read. */
  #beat(): void {
    const { heartbeat } = this.#options.frames;
    if (heartbeat === undefined || this.#full) return;
    this.#start(undefined);
    this.#write(heartbeat);
  }

  #write(piece: string | Uint8Array): void {
    this.#bytes += typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
    if (this.#sink === undefined) this.#held.push(piece);
    else this.#full = !this.#sink.write(piece);
    if (this.#sink === undefined || this.#full) this.#call.pause();
  }

  #close(sink: BodySink): void {
    if (this.#broken) sink.abort();
    else sink.end();
  }
}
