/** Writes the header list of a response. */
import type { FrameWriter } from "../../../src/http2/frame-writer.js";
import { Flag } from "../../../src/http2/frames.js";
import type { HeaderField } from "../../../src/http2/static-table.js";

/** Connection-specific headers of HTTP/1.1 (RFC 9113 §8.2.2). They are left out. */
const OF_CONNECTION = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);

/**
 * Headers with few values that repeat often, so that they are worth an entry in the encoder's
 * table.
 */
const REPEATED = new Set([
  "access-control-allow-origin",
  "access-control-expose-headers",
  "cache-control",
  "content-type",
  "strict-transport-security",
  "vary",
  "x-content-type-options",
]);

/** The maximum number of remembered names, and of values of each name. */
const MAX_NAMES = 1_000;
const MAX_VALUES = 100;

/** Fields that the encoder writes as one. */
interface List {
  readonly key: string;
  readonly fields: readonly HeaderField[];
}

interface ResponseName {
  /** In lower case, as HTTP/2 requires. */
  readonly name: string;
  readonly isDropped: boolean;
  /** By value, for a name of `REPEATED`. */
  readonly lists: Map<string, List> | undefined;
}

const names = new Map<string, ResponseName>();
const statuses = new Map<number, List>();

function nameOf(given: string): ResponseName {
  const known = names.get(given);
  if (known !== undefined) return known;
  const name = given.toLowerCase();
  const made = { name, isDropped: OF_CONNECTION.has(name), lists: REPEATED.has(name) ? new Map() : undefined };
  if (names.size < MAX_NAMES) names.set(given, made);
  return made;
}

function listOf(name: string, value: string): List {
  return { key: `${name} ${value}`, fields: [{ name, value }] };
}

/** The size of a field besides its name and value, as counted in RFC 9113 §6.5.2. */
const FIELD_COST = 32;

/** Bytes of `:status` and `date`, and of everything that HPACK may add. */
const BASE_SIZE = 128;

/**
 * Writes HEADERS with the status, the date and the headers of a response.
 * @param headers name, value, name, value …, in upper or lower case
 * @param date the value of the header Date; undefined for an interim response, which has none
 */
export function writeHead(
  writer: FrameWriter,
  streamId: number,
  status: number,
  headers: readonly string[],
  date: string | undefined,
  flags: number,
): void {
  const { encoder, output } = writer;
  const at = writer.beginHeaders(BASE_SIZE + sizeOf(headers));
  let statusList = statuses.get(status);
  if (statusList === undefined) {
    statusList = listOf(":status", String(status));
    statuses.set(status, statusList);
  }
  encoder.list(output, statusList.key, statusList.fields);
  for (let index = 0; index < headers.length; index += 2) {
    writeField(writer, nameOf(headers[index] as string), headers[index + 1] as string);
  }
  if (date !== undefined) encoder.field(output, "date", date);
  writer.endHeaders(at, streamId, flags);
}

/** Writes the HEADERS frame that ends a response. */
export function writeTrailers(writer: FrameWriter, streamId: number, trailers: readonly string[]): void {
  const at = writer.beginHeaders(sizeOf(trailers));
  for (let index = 0; index < trailers.length; index += 2) {
    writeField(writer, nameOf(trailers[index] as string), trailers[index + 1] as string);
  }
  writer.endHeaders(at, streamId, Flag.END_STREAM);
}

function sizeOf(headers: readonly string[]): number {
  let size = 0;
  for (const text of headers) size += text.length;
  return size + (headers.length / 2) * FIELD_COST;
}

function writeField({ encoder, output }: FrameWriter, { name, isDropped, lists }: ResponseName, value: string): void {
  if (isDropped) return;
  if (lists === undefined) {
    encoder.field(output, name, value);
    return;
  }
  let list = lists.get(value);
  if (list === undefined) {
    list = listOf(name, value);
    if (lists.size < MAX_VALUES) lists.set(value, list);
  }
  encoder.list(output, list.key, list.fields);
}
