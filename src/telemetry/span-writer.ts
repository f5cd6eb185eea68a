/**
 * Writes spans as OTLP sends them: messages of opentelemetry/proto/collector/trace/v1/
 * trace_service.proto and trace/v1/trace.proto, version 1.
 * (https://github.com/open-telemetry/opentelemetry-proto)
 */
import { BinaryReader } from "../wire/reader.js";
import { BinaryWriter } from "../wire/writer.js";
import type { Attributes, EndedSpan } from "./span.js";

/** Tags of fields: the field number, and the wire type in the lowest three bits. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const tag = (field: number, type: number): number => (field << 3) | type;

/** Fields of the messages. */
const Request = { RESOURCE_SPANS: tag(1, BYTES) } as const;
const ResourceSpans = { RESOURCE: tag(1, BYTES), SCOPE_SPANS: tag(2, BYTES), SCHEMA_URL: tag(3, BYTES) } as const;
const Resource = { ATTRIBUTES: tag(1, BYTES) } as const;
const ScopeSpans = { SCOPE: tag(1, BYTES), SPANS: tag(2, BYTES), SCHEMA_URL: tag(3, BYTES) } as const;
const Scope = { NAME: tag(1, BYTES), VERSION: tag(2, BYTES) } as const;
const SpanField = {
  TRACE_ID: tag(1, BYTES),
  SPAN_ID: tag(2, BYTES),
  TRACE_STATE: tag(3, BYTES),
  PARENT_SPAN_ID: tag(4, BYTES),
  NAME: tag(5, BYTES),
  KIND: tag(6, VARINT),
  START: tag(7, FIXED64),
  END: tag(8, FIXED64),
  ATTRIBUTES: tag(9, BYTES),
  STATUS: tag(15, BYTES),
  FLAGS: tag(16, FIXED32),
} as const;
const StatusField = { MESSAGE: tag(2, BYTES), CODE: tag(3, VARINT) } as const;
const KeyValue = { KEY: tag(1, BYTES), VALUE: tag(2, BYTES) } as const;
const AnyValue = { STRING: tag(1, BYTES), INT: tag(3, VARINT), DOUBLE: tag(4, FIXED64) } as const;
/** Field 1 of the response, and the fields of the message in it. */
const Response = { PARTIAL_SUCCESS: tag(1, BYTES) } as const;
const PartialSuccess = { REJECTED_SPANS: tag(1, VARINT), ERROR_MESSAGE: tag(2, BYTES) } as const;

const STATUS_ERROR = 2;
/** The flags of a span say whether its parent is remote, and that they say so. */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

/** Maximum characters of a value. */
const MAX_VALUE = 256;

/** The version of the semantic conventions that names and attributes follow. */
export const SCHEMA_URL = "https://opentelemetry.io/schemas/1.37.0";

/** A span as a message, in memory of its own: what waits keeps nothing else in memory. */
export function writeSpan(span: EndedSpan): Uint8Array {
  const writer = new BinaryWriter();
  writer.uint32(SpanField.TRACE_ID).bytes(Buffer.from(span.traceId, "hex"));
  writer.uint32(SpanField.SPAN_ID).bytes(Buffer.from(span.spanId, "hex"));
  if (span.state !== undefined) writer.uint32(SpanField.TRACE_STATE).string(span.state);
  if (span.parentId !== undefined) writer.uint32(SpanField.PARENT_SPAN_ID).bytes(Buffer.from(span.parentId, "hex"));
  writer.uint32(SpanField.NAME).string(span.name).uint32(SpanField.KIND).uint32(span.kind);
  writer.uint32(SpanField.START).raw(nanoseconds(span.startMs));
  writer.uint32(SpanField.END).raw(nanoseconds(span.endMs));
  writeAttributes(writer, SpanField.ATTRIBUTES, span.attributes);
  if (span.error !== undefined) {
    writer.uint32(SpanField.STATUS).fork();
    if (span.error !== "") writer.uint32(StatusField.MESSAGE).string(shortened(span.error));
    writer.uint32(StatusField.CODE).uint32(STATUS_ERROR).join();
  }
  const remote = span.isParentRemote ? IS_REMOTE : 0;
  writer.uint32(SpanField.FLAGS).raw(fixed32(span.flags | HAS_IS_REMOTE | remote));
  return new Uint8Array(writer.finish());
}

/** Who sends spans: attributes of the resource, and the version of the instrumentation. */
export interface Sender {
  readonly resource: Attributes;
  readonly version: string;
}

/** A request with spans that `writeSpan` returned. */
export function writeRequest({ resource, version }: Sender, spans: readonly Uint8Array[]): Uint8Array {
  const writer = new BinaryWriter();
  writer.uint32(Request.RESOURCE_SPANS).fork();
  writer.uint32(ResourceSpans.RESOURCE).fork();
  writeAttributes(writer, Resource.ATTRIBUTES, resource);
  writer.join();
  writer.uint32(ResourceSpans.SCOPE_SPANS).fork();
  writer.uint32(ScopeSpans.SCOPE).fork();
  writer.uint32(Scope.NAME).string("portico").uint32(Scope.VERSION).string(version).join();
  for (const span of spans) writer.uint32(ScopeSpans.SPANS).bytes(span);
  writer.uint32(ScopeSpans.SCHEMA_URL).string(SCHEMA_URL).join();
  writer.uint32(ResourceSpans.SCHEMA_URL).string(SCHEMA_URL).join();
  return writer.finish();
}

/** What a collector says about a request that it accepted. */
export interface PartialSuccess {
  /** How many spans it did not accept. */
  readonly rejected: number;
  readonly message: string;
}

/**
 * Reads the response to a request.
 * @throws {Error} where the bytes are no such message
 */
export function readResponse(bytes: Uint8Array): PartialSuccess {
  let result: PartialSuccess = { rejected: 0, message: "" };
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const field = reader.uint32();
    if (field === Response.PARTIAL_SUCCESS) result = readPartialSuccess(reader.bytes());
    else reader.skip(field & 7);
  }
  return result;
}

function readPartialSuccess(bytes: Uint8Array): PartialSuccess {
  let rejected = 0;
  let message = "";
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const field = reader.uint32();
    if (field === PartialSuccess.REJECTED_SPANS) rejected = Number(reader.int64());
    else if (field === PartialSuccess.ERROR_MESSAGE) message = reader.string();
    else reader.skip(field & 7);
  }
  return { rejected, message };
}

function writeAttributes(writer: BinaryWriter, field: number, attributes: Attributes): void {
  for (const name in attributes) {
    const value = attributes[name];
    if (value === undefined) continue;
    writer.uint32(field).fork();
    writer.uint32(KeyValue.KEY).string(name).uint32(KeyValue.VALUE).fork();
    if (typeof value === "string") writer.uint32(AnyValue.STRING).string(shortened(value));
    else if (Number.isSafeInteger(value)) writer.uint32(AnyValue.INT).int64(BigInt(value));
    else writer.uint32(AnyValue.DOUBLE).double(value);
    writer.join().join();
  }
}

function shortened(text: string): string {
  return text.length <= MAX_VALUE ? text : text.slice(0, MAX_VALUE);
}

/** For numbers of fixed length, which are copied at once. */
const fixedBytes = new Uint8Array(8);
const fixed = new DataView(fixedBytes.buffer);

/** @param ms milliseconds since 1970 */
function nanoseconds(ms: number): Uint8Array {
  const whole = Math.floor(ms);
  fixed.setBigUint64(0, BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6)), true);
  return fixedBytes;
}

function fixed32(value: number): Uint8Array {
  fixed.setUint32(0, value, true);
  return fixedBytes.subarray(0, 4);
}
