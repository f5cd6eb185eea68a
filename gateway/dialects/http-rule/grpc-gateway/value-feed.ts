/**
 * Sends the JSON values of a request's body as the messages of a call, as they arrive and as fast
 * as the service takes them. A client may be silent for any time, as in every open stream.
 */
import type { ChunkFlow, ChunkReader } from "../../../http/body.js";
import { type HttpError, NO_MEMORY } from "../../../http/errors.js";
import type { GatewayRequest } from "../../../http/message.js";
import type { StreamCall } from "../../../stages/stream-call.js";
import type { RequestFeed } from "../../json/streams/response-stream.js";
import { JsonValues } from "./json-values.js";

export interface ValueFeedOptions {
  readonly request: GatewayRequest;
  /** @returns a message in wire bytes. @throws {JsonError} for a value that is not a message */
  readonly toMessage: (json: Uint8Array) => Uint8Array;
  /** Maximum size of one JSON value. */
  readonly maxMessage: number;
}

export class ValueFeed implements ChunkReader, RequestFeed {
  readonly allowsSilence = true;
  readonly #call: StreamCall;
  readonly #toMessage: ValueFeedOptions["toMessage"];
  readonly #values: JsonValues;
  readonly #flow: ChunkFlow | undefined;
  /** The service takes no messages at present. */
  #blocked = false;
  /** The body has arrived to its end. */
  #received = false;
  #over = false;

  constructor(call: StreamCall, { request, toMessage, maxMessage }: ValueFeedOptions) {
    this.#call = call;
    this.#toMessage = toMessage;
    this.#values = new JsonValues(maxMessage);
    this.#flow = request.chunks(this);
  }

  onChunk(chunk: Uint8Array): boolean {
    if (this.#over) return true;
    this.#values.push(chunk);
    this.#pass();
    return !this.#blocked;
  }

  onEnd(): void {
    this.#received = true;
    if (!this.#blocked) this.#pass();
  }

  onError(error: HttpError): void {
    this.#fail(error);
  }

  onDrain(): void {
    if (!this.#blocked) return;
    this.#blocked = false;
    this.#pass();
    if (!this.#blocked && !this.#over && !this.#received) this.#flow?.resume();
  }

  stop(): void {
    this.#over = true;
    this.#flow?.stop();
  }

  /** Sends the values that are complete, until the service takes no more. */
  #pass(): void {
    try {
      while (!this.#blocked && !this.#over) {
        const value = this.#values.next() ?? (this.#received ? this.#values.end() : undefined);
        if (value === undefined) break;
        this.#blocked = !this.#call.send(this.#toMessage(value));
      }
      if (this.#received && !this.#blocked && !this.#over) this.#call.end();
      else this.#reserve();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #reserve(): void {
    const isUnfinished = this.#values.isUnfinished && !this.#blocked;
    if (this.#flow?.tryReserve?.(this.#values.held, isUnfinished) === false) throw NO_MEMORY;
  }

  #fail(error: Error): void {
    if (this.#over) return;
    this.stop();
    this.#call.stop(error);
  }
}
