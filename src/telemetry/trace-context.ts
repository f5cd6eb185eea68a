/**
 * The headers of W3C Trace Context (https://www.w3.org/TR/trace-context/): `traceparent` says to
 * which trace a request belongs, and `tracestate` has data of tracing systems. Clients send both,
 * so they count only where they are well-formed.
 */

/** What a valid `traceparent` says. IDs are lower-case hexadecimal. */
export interface TraceContext {
  /** 32 digits, not all zero. */
  readonly traceId: string;
  /** The ID of the span that sent the header: 16 digits, not all zero. */
  readonly spanId: string;
  /** Eight bits (§3.2.2.5). */
  readonly flags: number;
}

/** The flag of `traceparent` that says that the sender may have recorded its span (§3.2.2.5.1). */
export const SAMPLED = 0x01;
/** The flag that says that the trace ID was chosen at random (Level 2). */
export const RANDOM = 0x02;

/** Version, trace ID, parent ID, flags, and additions of versions after 00 (§3.2.2). */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]*)?$/;

/** Reads a `traceparent`; undefined where it is absent or malformed. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const match = text === undefined ? null : TRACEPARENT.exec(text);
  if (match === null || (match[1] === "00" && match[5] !== undefined)) return undefined;
  return { traceId: match[2] as string, spanId: match[3] as string, flags: Number.parseInt(match[4] as string, 16) };
}

/** Writes a `traceparent` of version 00. */
export function formatTraceparent({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
}

/** Maximum characters of a `tracestate`; §3.3.1.5 asks for at least this many. */
const MAX_TRACESTATE = 512;
/** Members of a `tracestate` (§3.3.1.1). */
const MAX_MEMBERS = 32;
/** A key of a tracing system, or of a tenant in one, and its value (§3.3.1.3). */
const MEMBER =
  /^([a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const SPACE_AROUND = /^[ \t]+|[ \t]+$/g;

/** Whether a `tracestate` is well-formed: then it is passed on as it was sent. */
function isTracestate(text: string): boolean {
  if (text.length > MAX_TRACESTATE) return false;
  const keys = new Set<string>();
  for (const part of text.split(",")) {
    const member = part.replace(SPACE_AROUND, "");
    if (member === "") continue;
    const key = MEMBER.exec(member)?.[1];
    if (key === undefined || keys.has(key) || keys.size === MAX_MEMBERS) return false;
    keys.add(key);
  }
  return keys.size > 0;
}

interface SentTrace {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** The two headers of a request, as they are passed on unchanged. */
export interface Trace {
  /** Undefined where it was absent or malformed. */
  readonly parent: string | undefined;
  /** Undefined without a valid parent too (§3.3). */
  readonly state: string | undefined;
}

const NO_TRACE: Trace = { parent: undefined, state: undefined };

/** The well-formed of the two headers. */
export function traceOf({ traceparent, tracestate }: SentTrace): Trace {
  if (parseTraceparent(traceparent) === undefined) return NO_TRACE;
  return { parent: traceparent, state: stateOf(tracestate) };
}

/** A `tracestate` beside a valid `traceparent`; undefined where it is absent or malformed. */
export function stateOf(tracestate: string | undefined): string | undefined {
  return tracestate !== undefined && isTracestate(tracestate) ? tracestate : undefined;
}
