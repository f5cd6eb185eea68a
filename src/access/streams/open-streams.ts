/**
 * Streams that were admitted and are still open. Each is re-authorized at every revision, and ends
 * when its token expires or is revoked.
 *
 * A stream belongs to the caller that opened it. When the caller's token is no longer valid, the
 * stream is refused, even if a public rule would admit calls without a token: the service believes
 * that it talks to the caller.
 *
 * When something about a caller has changed, its token is looked up again. The revision is
 * acknowledged only when that is done. A stream whose caller cannot be looked up in time is
 * refused.
 *
 * No message passes while no lease runs, or while the caller is looked up. In that time the
 * authority may report a change as made by which the stream is not yet authorized. A stream with a
 * message to pass waits until it is notified.
 */
import { type Admission, type FollowedStream, refusal, type StreamListener } from "../../call/admission.js";
import type { Caller } from "../../call/caller.js";
import { type CallerCache, LOOKUP_TIME } from "../callers/caller-cache.js";
import type { ChangedCallers } from "../callers/caller-changes.js";
import { KnownCaller } from "../callers/known-caller.js";

/**
 * Maximum number of callers that are looked up at the same time: as many as one message can have.
 */
const LOOKUPS = 1_000;
/** The longest time that a timer of Node can have, in milliseconds. */
const MAX_TIMER = 2 ** 31 - 1;

class OpenStream implements FollowedStream {
  readonly admission: Admission;
  readonly listener: StreamListener;
  /** The caller as it was last looked up. The admission has the caller that the service knows. */
  caller: KnownCaller | undefined;
  /** The token of the service that acts for the caller, as it was last looked up. */
  serviceToken: KnownCaller | undefined;
  expiry: NodeJS.Timeout | undefined;
  /**
   * Number of running lookups of its tokens. Until they end, what the guard knows of the caller may
   * be out of date.
   */
  lookups = 0;
  /** A message waits for `onResumed`. */
  isWaiting = false;
  readonly #streams: OpenStreams;

  constructor(streams: OpenStreams, admission: Admission, listener: StreamListener, caller: KnownCaller | undefined) {
    this.#streams = streams;
    this.admission = admission;
    this.listener = listener;
    this.caller = caller;
    this.serviceToken = admission.serviceToken instanceof KnownCaller ? admission.serviceToken : undefined;
  }

  /** The tokens by which it is open. */
  get tokens(): KnownCaller[] {
    return [this.caller, this.serviceToken].filter((token) => token !== undefined);
  }

  mayPass(): boolean {
    if (this.lookups === 0 && this.#streams.hasLease()) return true;
    this.isWaiting = true;
    return false;
  }

  end(): void {
    this.#streams.leave(this);
  }
}

/** What the guard gives its open streams to authorize them. */
export interface OpenStreamsOptions {
  readonly callers: CallerCache;
  /** The authority's clock, in milliseconds since 1970. */
  readonly now: () => number;
  /** Whether a lease runs. */
  readonly hasLease: () => boolean;
  /** Why a call is refused now; undefined if it is not. */
  readonly authorize: (admission: Admission, caller: Caller | undefined) => Error | undefined;
}

/** The open streams of one guard. */
export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  readonly #open = new Set<OpenStream>();

  /** Whether a lease runs. */
  readonly hasLease: () => boolean;

  constructor(options: OpenStreamsOptions) {
    this.#options = options;
    this.hasLease = options.hasLease;
  }

  get size(): number {
    return this.#open.size;
  }

  /** @throws {TypeError} if another guard made the admission */
  follow(admission: Admission, listener: StreamListener): FollowedStream {
    const { caller } = admission;
    if (caller !== undefined && !(caller instanceof KnownCaller)) {
      throw new TypeError("only what this guard has admitted can be followed");
    }
    const stream = new OpenStream(this, admission, listener, caller);
    this.#open.add(stream);
    const { tokens } = stream;
    const wasCurrent = tokens.every((token) => this.#options.callers.isCurrent(token));
    if (!wasCurrent) stream.lookups += tokens.length;
    // Something may have changed since the admission. The listener is notified only after this
    // function has returned.
    queueMicrotask(() => {
      if (wasCurrent && tokens.every((token) => this.#options.callers.isCurrent(token))) return this.#goOn(stream);
      if (wasCurrent) stream.lookups += tokens.length;
      void this.#renewAll(new Map(tokens.map((token) => [token, [stream]])));
    });
    return stream;
  }

  /** A lease runs again. */
  resumeAll(): void {
    for (const stream of this.#open) this.#resume(stream);
  }

  #resume(stream: OpenStream): void {
    if (!stream.isWaiting || !this.#open.has(stream) || stream.lookups > 0 || !this.hasLease()) return;
    stream.isWaiting = false;
    stream.listener.onResumed();
  }

  /** Resolves when every stream has been re-authorized. */
  reauthorize(changed: Pick<ChangedCallers, "has"> | undefined): Promise<void> {
    const outdated = new Map<KnownCaller, OpenStream[]>();
    for (const stream of this.#open) {
      const tokens = changed === undefined ? [] : stream.tokens.filter((token) => changed.has(token));
      if (tokens.length === 0) this.#authorize(stream);
      stream.lookups += tokens.length;
      for (const token of tokens) {
        const streams = outdated.get(token);
        if (streams === undefined) outdated.set(token, [stream]);
        else streams.push(stream);
      }
    }
    return this.#renewAll(outdated);
  }

  refuseAll(error: Error): void {
    for (const stream of this.#open) this.#refuse(stream, error);
  }

  async #renewAll(outdated: ReadonlyMap<KnownCaller, OpenStream[]>): Promise<void> {
    const deadlineMonotonicMs = performance.now() + LOOKUP_TIME;
    const rest = outdated.entries();
    const renewSome = async () => {
      for (const [caller, streams] of rest) await this.#renew(caller, streams, deadlineMonotonicMs);
    };
    await Promise.all(Array.from({ length: Math.min(LOOKUPS, outdated.size) }, renewSome));
  }

  async #renew(token: KnownCaller, streams: OpenStream[], deadlineMonotonicMs: number): Promise<void> {
    const { callers } = this.#options;
    try {
      // If the caller changes meanwhile, `reauthorize` renews the same streams again.
      const renewed = await callers.ask(token.hashBytes, deadlineMonotonicMs);
      for (const stream of streams) {
        stream.lookups--;
        if (renewed === undefined) {
          this.#refuse(stream, refusal("unauthorized", stream.admission.endpoint, undefined));
          continue;
        }
        if (stream.caller?.hash === token.hash) stream.caller = renewed;
        if (stream.serviceToken?.hash === token.hash) stream.serviceToken = renewed;
        this.#goOn(stream);
      }
    } catch (error) {
      for (const stream of streams) this.#refuse(stream, error as Error);
    }
  }

  #goOn(stream: OpenStream): void {
    if (this.#open.has(stream)) this.#watchExpiry(stream);
    this.#authorize(stream);
    this.#resume(stream);
  }

  #watchExpiry(stream: OpenStream): void {
    const { caller, admission } = stream;
    const left = (caller?.expires ?? Number.POSITIVE_INFINITY) - this.#options.now();
    clearTimeout(stream.expiry);
    if (left <= 0) this.#refuse(stream, refusal("unauthorized", admission.endpoint, undefined));
    else if (left < Number.POSITIVE_INFINITY) {
      stream.expiry = setTimeout(() => this.#watchExpiry(stream), Math.min(Math.ceil(left), MAX_TIMER));
    }
  }

  #authorize(stream: OpenStream): void {
    const error = this.#options.authorize(stream.admission, stream.caller);
    if (error !== undefined) this.#refuse(stream, error);
  }

  #refuse(stream: OpenStream, error: Error): void {
    if (this.leave(stream)) stream.listener.onRefused(error);
  }

  /** Stops following the stream. @returns whether it was still followed */
  leave(stream: OpenStream): boolean {
    clearTimeout(stream.expiry);
    return this.#open.delete(stream);
  }
}
