/** The first line and the headers of a response as text. */
import { reason } from "../../http/errors.js";
import type { GatewayResponse } from "../../http/message.js";
import { dateOf } from "../date.js";

/** `HTTP/1.1 200 OK` with its line end, by status. */
const STATUS_LINES: string[] = [];

/**
 * A header with its line end. A line end within the value would begin another header (RFC 9110
 * §5.5).
 */
const HEADER_LINE = /^[\t\x20-\x7e\x80-\xff]*\r\n$/;

/**
 * @param connection the headers of the connection, each with its line end
 * @param length of the body, where the response itself has no Content-Length; undefined for a body
 * without a length
 */
export function responseHead(
  { status, headers }: Pick<GatewayResponse, "status" | "headers">,
  connection: string,
  length: number | undefined,
): string {
  STATUS_LINES[status] ??= `HTTP/1.1 ${status} ${reason(status)}\r\n`;
  let text = STATUS_LINES[status] as string;
  let saysLength = false;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    const line = headerLine(name, value, at);
    if (line === undefined) continue;
    text += line;
    if (name === "Content-Length") saysLength = true;
  }
  if (length !== undefined && !saysLength) text += `Content-Length: ${length}\r\n`;
  return text + headEnd(connection);
}

/** Headers or trailers, each with its line end, without those that cannot be sent. */
export function fieldLines(fields: readonly string[]): string {
  let text = "";
  for (let at = 0; at < fields.length; at += 2) {
    const line = `${fields[at]}: ${fields[at + 1]}\r\n`;
    if (HEADER_LINE.test(line)) text += line;
  }
  return text;
}

interface SentHeader {
  name: string;
  value: string;
  line: string;
}

/**
 * The headers that were sent last, by position. Most responses have the same headers, except for an
 * ID, so their lines are reused.
 */
const lastSent: SentHeader[] = [];

/** @returns undefined for a header that cannot be sent */
function headerLine(name: string, value: string, at: number): string | undefined {
  lastSent[at >> 1] ??= { name: "", value: "", line: "" };
  const last = lastSent[at >> 1] as SentHeader;
  if (last.name === name && last.value === value) return last.line;
  const line = `${name}: ${value}\r\n`;
  if (!HEADER_LINE.test(line)) return undefined;
  last.name = name;
  last.value = value;
  last.line = line;
  return line;
}

/** The text after the headers of a response, for the connection headers used last. */
let end = "";
let endDate = "";
let endConnection = "";

/** The header Date, and the headers of the connection. */
function headEnd(connection: string): string {
  const date = dateOf(Date.now());
  if (date !== endDate || connection !== endConnection) {
    end = `Date: ${date}\r\n${connection}\r\n`;
    endDate = date;
    endConnection = connection;
  }
  return end;
}
