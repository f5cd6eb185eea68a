/**
 * The head of a request: its first line and its headers, read from the positions that the parser
 * has found in its bytes.
 */
import { HEADER_FIELDS, type KnownHeader, RequestHeaders, tryAddHeader } from "../../http/headers.js";

interface FirstLine {
  readonly method: string;
  readonly major: number;
  readonly minor: number;
  /** Whether another protocol is asked for: by CONNECT, or by the header Upgrade. */
  readonly upgrade: boolean;
  /** Whether the connection may stay open after the response. */
  readonly keepAlive: boolean;
}

/** A header that the gateway reads: its name in lower case, as bytes. */
interface KnownName {
  readonly bytes: Uint8Array;
  readonly field: KnownHeader;
}

/** The known names, indexed by their length. */
const KNOWN: (readonly KnownName[] | undefined)[] = [];
for (const [name, field] of HEADER_FIELDS) {
  KNOWN[name.length] = [...(KNOWN[name.length] ?? []), { bytes: Buffer.from(name), field }];
}

const SPACE = 0x20;
const TAB = 0x09;

export class Http1RequestHead implements FirstLine {
  readonly method: string;
  readonly target: string;
  readonly major: number;
  readonly minor: number;
  readonly upgrade: boolean;
  readonly keepAlive: boolean;
  readonly headers = new RequestHeaders();
  /** From the target to the last header, one character for each octet. */
  readonly #text: string;
  readonly #hasHeaders: boolean;
  #rawHeaders: string[] | undefined;

  /**
   * @param spans the positions of target, names and values in `bytes`
   * @param count the number of headers
   */
  constructor(bytes: Buffer, spans: Int32Array, count: number, line: FirstLine) {
    this.method = line.method;
    this.major = line.major;
    this.minor = line.minor;
    this.upgrade = line.upgrade;
    this.keepAlive = line.keepAlive;
    const start = spans[0] as number;
    const text = bytes.latin1Slice(start, endOf(spans, count));
    this.#text = text;
    this.#hasHeaders = count > 0;
    this.target = text.substring(0, (spans[1] as number) - start);
    const { headers } = this;
    headers.count = count;
    for (let place = 2; place < 2 + 4 * count; place += 4) {
      const field = knownField(bytes, spans[place] as number, spans[place + 1] as number);
      if (field === undefined) continue;
      const from = spans[place + 2] as number;
      const value = text.substring(from - start, trimmedEnd(bytes, from, spans[place + 3] as number) - start);
      if (!tryAddHeader(headers, field, value)) {
        headers.repeated ??= text.substring((spans[place] as number) - start, (spans[place + 1] as number) - start);
      }
    }
  }

  /**
   * Name, value, name, value … as sent. Made at the first use, because most requests are served
   * without it.
   */
  get rawHeaders(): readonly string[] {
    this.#rawHeaders ??= this.#hasHeaders ? headersOf(this.#text) : [];
    return this.#rawHeaders;
  }
}

/**
 * The end of the last header, or of the target where there are no headers. llhttp may report an
 * empty value after the end of its line.
 */
function endOf(spans: Int32Array, count: number): number {
  if (count === 0) return spans[1] as number;
  const valueEnd = spans[4 * count + 1] as number;
  return valueEnd > (spans[4 * count] as number) ? valueEnd : (spans[4 * count - 1] as number) + 1;
}

/** The header that the gateway reads under this name; undefined for any other. */
function knownField(bytes: Buffer, start: number, end: number): KnownHeader | undefined {
  const candidates = KNOWN[end - start];
  if (candidates === undefined) return undefined;
  for (const { bytes: name, field } of candidates) {
    let at = 0;
    // Names consist of ASCII letters and hyphens: this bit converts every letter to lower case, and
    // keeps hyphens.
    while (at < name.length && ((bytes[start + at] as number) | 0x20) === name[at]) at++;
    if (at === name.length) return field;
  }
  return undefined;
}

/** llhttp does not remove spaces and tabs at the end of a value (RFC 9112 §5.1). */
function trimmedEnd(bytes: Buffer, start: number, end: number): number {
  let last = end;
  while (last > start && isSpace(bytes[last - 1])) last--;
  return last;
}

/** Splits a head whose syntax llhttp has checked. */
function headersOf(text: string): string[] {
  const raw: string[] = [];
  const [, ...lines] = text.split("\r\n");
  for (const line of lines) {
    const colon = line.indexOf(":");
    raw.push(line.slice(0, colon), trimmed(line, colon + 1));
  }
  return raw;
}

/**
 * The text from `start` on, without surrounding spaces and tabs. A regular expression would
 * backtrack at each space within the text.
 */
function trimmed(text: string, start: number): string {
  let [first, end] = [start, text.length];
  while (first < end && isSpace(text.charCodeAt(first))) first++;
  while (end > first && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(first, end);
}

function isSpace(octet: number | undefined): boolean {
  return octet === SPACE || octet === TAB;
}
