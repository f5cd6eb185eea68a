/**
 * Whether the next request of a connection waits before it is read: because one like it was refused in an overload, or because its
 * service has too many calls.
 */
import type { UnreadRequest } from "../../backlog.js";
import type { Exchange } from "./exchange.js";
import { Hold } from "./hold.js";
import { LastRequest } from "./last-request.js";

/** The connection, which keeps what has arrived. */
interface Reader {
  /** Reads it, as far as it can; the next request may have to wait again. */
  readOn(): void;
  /** Reads the next request in any case. */
  readDelayed(): void;
}

export class ReadDelay implements UnreadRequest {
  /** The next request waits until its service takes more calls. */
  isInBacklog = false;
  readonly #reader: Reader;
  readonly #last = new LastRequest();
  #hold: Hold | undefined;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** A request was answered. */
  onAnswer(exchange: Exchange): void {
    this.#last.set(exchange);
  }

  /** A request was refused in an overload. @param holdMs for how long those like it wait, in milliseconds; default by chance */
  holdBack({ method, target }: Exchange, holdMs: number | undefined): void {
    this.#hold?.end();
    this.#hold = new Hold({ method, target, holdMs, onEnd: () => this.#endHold() });
  }

  /** Whether the request waits that begins at a place of a chunk. The reader is told when it need not any more. */
  begins(chunk: Buffer, at: number, mayEnterBacklog: boolean): boolean {
    if (this.#hold?.holds(chunk, at)) return true;
    const backlog = mayEnterBacklog ? this.#last.backlogOf(chunk, at) : undefined;
    if (backlog === undefined) return false;
    this.isInBacklog = true;
    backlog.wait(this);
    return true;
  }

  readUnread(): void {
    if (!this.isInBacklog) return;
    this.isInBacklog = false;
    this.#reader.readDelayed();
  }

  #endHold(): void {
    if (this.#hold === undefined) return;
    this.#hold.end();
    this.#hold = undefined;
    this.#reader.readOn();
  }

  /** No request waits any longer. */
  end(): void {
    this.#endHold();
    this.readUnread();
  }

  /** The connection is closed. */
  close(): void {
    this.#hold?.end();
    this.isInBacklog = false;
  }
}
