/**
 * Decides which requests are traced, and makes their spans. The decision is made before anything is
 * allocated: a request that is not traced has no object here.
 *
 * This room knows no endpoint and no rule: those who make a span name it.
 */
import { type Attributes, type EndedSpan, newSpanId, newTraceId, SpanKind } from "./span.js";
import type { SpanQueue } from "./span-queue.js";
import { formatTraceparent, parseTraceparent, RANDOM, SAMPLED, stateOf, type TraceContext } from "./trace-context.js";

/**
 * Maximum number of requests a second that are traced because others have sampled them. Any client
 * can send a `traceparent` that says so.
 */
const MAX_REMOTE = 1_000;

export interface TracerOptions {
  /** The part of the requests without a sampling decision that are traced: 0 to 1. */
  readonly ratio: number;
  readonly queue: Pick<SpanQueue, "add" | "drop" | "hasRoom">;
  /** Returns a number from 0 to 1, without 1; default at random. */
  readonly random?: () => number;
}

export class Tracer {
  readonly #ratio: number;
  readonly #queue: TracerOptions["queue"];
  readonly #random: () => number;
  readonly #clock = new WallClock();
  #second = -1;
  #remote = 0;

  constructor({ ratio, queue, random = Math.random }: TracerOptions) {
    this.#ratio = ratio;
    this.#queue = queue;
    this.#random = random;
  }

  /**
   * Begins the server span of a request. Where a client has decided whether to sample, its decision
   * holds.
   * @param startMonotonicMs when it arrived, in milliseconds of `performance.now()`
   * @returns undefined for a request that is not traced
   */
  begin(
    traceparent: string | undefined,
    tracestate: string | undefined,
    startMonotonicMs: number,
  ): ActiveSpan | undefined {
    const parent = parseTraceparent(traceparent);
    if (parent !== undefined) return this.#continue(parent, tracestate, startMonotonicMs, true);
    if (this.#random() >= this.#ratio) return undefined;
    if (!this.#queue.hasRoom(false)) return this.#drop("queue_full");
    const place = { traceId: newTraceId(), parentId: undefined, isParentRemote: false, flags: SAMPLED };
    return this.#serverSpan({ ...place, state: undefined }, startMonotonicMs);
  }

  /**
   * Begins the server span of a call whose caller has sampled it. It is never the first span of a
   * trace: the gateway decides about those.
   * @param isRemote whether another process calls
   * @returns undefined for a call that is not traced
   */
  continue(traceparent: string | undefined, tracestate: string | undefined, isRemote: boolean): ActiveSpan | undefined {
    const parent = parseTraceparent(traceparent);
    return parent && this.#continue(parent, tracestate, performance.now(), isRemote);
  }

  #continue(
    parent: TraceContext,
    tracestate: string | undefined,
    startMonotonicMs: number,
    isRemote: boolean,
  ): ActiveSpan | undefined {
    const { traceId, spanId: parentId, flags } = parent;
    if ((flags & SAMPLED) === 0) return undefined;
    if (isRemote && !this.#mayFollow(startMonotonicMs)) return this.#drop("rate");
    if (!this.#queue.hasRoom(isRemote)) return this.#drop("queue_full");
    const place = { traceId, parentId, isParentRemote: isRemote, flags: flags & (SAMPLED | RANDOM) };
    return this.#serverSpan({ ...place, state: stateOf(tracestate) }, startMonotonicMs);
  }

  #mayFollow(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#remote = 0;
    }
    return ++this.#remote <= MAX_REMOTE;
  }

  #drop(reason: "queue_full" | "rate"): undefined {
    this.#queue.drop(1, reason);
  }

  #serverSpan(start: SpanStart, startMonotonicMs: number): ActiveSpan {
    const name = { name: "", kind: SpanKind.SERVER, startMonotonicMs };
    return new ActiveSpan(start, name, { queue: this.#queue, offsetMs: this.#clock.offset() });
  }
}

/** Where a span is in its trace. */
type SpanStart = Pick<EndedSpan, "traceId" | "parentId" | "isParentRemote" | "flags" | "state">;

interface SpanName {
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMonotonicMs: number;
}

/** What the spans of a request share. */
interface Recording {
  readonly queue: Pick<SpanQueue, "add">;
  /** Milliseconds from `performance.now()` to the time since 1970. */
  readonly offsetMs: number;
}

/** How a span ended. */
export interface SpanEnd {
  /** Where the name is known only at the end. */
  readonly name?: string | undefined;
  readonly attributes: Attributes;
  /** Why it failed; undefined where it did not. */
  readonly error?: string | undefined;
}

/** A span that has begun. */
export class ActiveSpan {
  readonly spanId = newSpanId();
  readonly #start: SpanStart;
  readonly #name: SpanName;
  readonly #recording: Recording;
  #hasEnded = false;

  constructor(start: SpanStart, name: SpanName, recording: Recording) {
    this.#start = start;
    this.#name = name;
    this.#recording = recording;
  }

  get traceId(): string {
    return this.#start.traceId;
  }

  /** The header for calls that this span makes. */
  get traceparent(): string {
    const { traceId, flags } = this.#start;
    return formatTraceparent({ traceId, spanId: this.spanId, flags });
  }

  /** The `tracestate` of the request, unchanged. */
  get tracestate(): string | undefined {
    return this.#start.state;
  }

  /** Begins a span within this one. */
  child(name: string, kind: SpanKind, startMonotonicMs = performance.now()): ActiveSpan {
    const start = { ...this.#start, parentId: this.spanId, isParentRemote: false };
    return new ActiveSpan(start, { name, kind, startMonotonicMs }, this.#recording);
  }

  /** Ends the span, the first time. */
  end({ name, attributes, error }: SpanEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { queue, offsetMs } = this.#recording;
    const { startMonotonicMs, ...begun } = this.#name;
    queue.add({
      ...this.#start,
      ...begun,
      spanId: this.spanId,
      name: name ?? begun.name,
      startMs: startMonotonicMs + offsetMs,
      endMs: performance.now() + offsetMs,
      attributes,
      error,
    });
  }
}

/**
 * The wall clock with fractions of milliseconds. It follows the machine's clock, which may be set,
 * but all spans of a request have one offset: so a span is never before its parent.
 */
class WallClock {
  #offset = performance.timeOrigin;

  offset(): number {
    const current = Date.now() - performance.now();
    // `Date.now()` has whole milliseconds.
    if (Math.abs(current - this.#offset) > 2) this.#offset = current;
    return this.#offset;
  }
}
