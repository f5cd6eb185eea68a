/** The first line and the headers of a response as text. */
import { reason } from "../../errors.js";
import type { GatewayResponse } from "../../http.js";

/** `HTTP/1.1 200 OK` with the end of its line, by status. */
const STATUS_LINES: string[] = [];

/** What no header may have: with an end of line in it, a value would begin another header (RFC 9110 §5.5). */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * @param connection the headers of the connection, each with the end of its line
 * @param length of the body, where the response itself does not say it; undefined for a body without a length
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
    if (!isSendable(name, value, at)) continue;
    text += `${name}: ${value}\r\n`;
    if (name === "Content-Length") saysLength = true;
  }
  if (length !== undefined && !saysLength) text += `Content-Length: ${length}\r\n`;
  return `${text}Date: ${currentDate()}\r\n${connection}\r\n`;
}

/** The last headers that were sent, each at its place: most responses have the same, but for an id. */
const lastSent: string[] = [];

function isSendable(name: string, value: string, at: number): boolean {
  if (lastSent[at] === name && lastSent[at + 1] === value) return true;
  if (UNSENDABLE.test(name) || UNSENDABLE.test(value)) return false;
  lastSent[at] = name;
  lastSent[at + 1] = value;
  return true;
}

let date = "";
let dateEnds = 0;

/** The header Date (RFC 9110 §6.6.1), made once a second. */
function currentDate(): string {
  const now = Date.now();
  if (now >= dateEnds) {
    date = new Date(now).toUTCString();
    dateEnds = now - (now % 1000) + 1000;
  }
  return date;
}
