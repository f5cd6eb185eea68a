/**
 * A span: one step of a request, with its begin, its end and its attributes
 * (https://opentelemetry.io/docs/specs/otel/trace/api/#span).
 */
import { randomFillSync } from "node:crypto";

/** The kinds of spans, with their numbers in opentelemetry/proto/trace/v1/trace.proto. */
export const SpanKind = { INTERNAL: 1, SERVER: 2, CLIENT: 3 } as const;
export type SpanKind = (typeof SpanKind)[keyof typeof SpanKind];

/** Undefined values are left out. */
export type Attributes = { readonly [name: string]: string | number | undefined };

/** A span that has ended. */
export interface EndedSpan {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Undefined for the first span of a trace. */
  readonly parentId: string | undefined;
  /** Whether the parent is a span of another process. */
  readonly isParentRemote: boolean;
  /** The flags of `traceparent`. */
  readonly flags: number;
  /** The `tracestate` of the request. */
  readonly state: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** In milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** Why it failed; undefined where it did not. May be empty. */
  readonly error: string | undefined;
}

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
const ALL_ZERO = /^0+$/;

/** Random bytes for IDs. One request for many takes less time than many requests. */
const random = Buffer.alloc(4096);
let unused = random.length;

export function newTraceId(): string {
  return newId(TRACE_ID_BYTES);
}

export function newSpanId(): string {
  return newId(SPAN_ID_BYTES);
}

/** An ID must not be all zero (W3C Trace Context §3.2.2.3). */
function newId(bytes: number): string {
  for (;;) {
    if (unused + bytes > random.length) {
      randomFillSync(random);
      unused = 0;
    }
    const id = random.toString("hex", unused, unused + bytes);
    unused += bytes;
    if (!ALL_ZERO.test(id)) return id;
  }
}
