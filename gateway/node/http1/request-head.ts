/** The head of a request: its first line and its headers, made of the places that the parser has found in its bytes. */
import { HEADER_FIELDS, type KnownHeader, RequestHeaders, tryAddHeader } from "../../http/headers.js";

interface FirstLine {
  readonly method: string;
  readonly major: number;
  readonly minor: number;
  /** Whether another protocol is asked for: CONNECT, or the header Upgrade. */
  readonly upgrade: boolean;
  /** Whether the connection may be kept after the response. */
  readonly keepAlive: boolean;
}

/** A header that the gateway reads: its name in lower case, as bytes. */
interface KnownName {
  readonly bytes: Uint8Array;
  readonly field: KnownHeader;
}

/** By the length of their names. */
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
  /** From the target to the last header, one character an octet. */
  readonly #text: string;
  readonly #hasHeaders: boolean;
  #rawHeaders: string[] | undefined;

  /**
   * @param spans where target, names and values stand in `bytes`
   * @param count how many headers there are
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

  /** Name, value, name, value … as sent. Made when it is first asked for: most requests are served without. */
  get rawHeaders(): readonly string[] {
    this.#rawHeaders ??= this.#hasHeaders ? headersOf(this.#text) : [];
    return this.#rawHeaders;
  }
}

/** Where the last header ends, or the target where there is none. An empty value may be found behind the end of its line. */
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
    // Names have letters and hyphens, in ASCII: this bit makes any letter a small one.
    while (at < name.length && ((bytes[start + at] as number) | 0x20) === name[at]) at++;
    if (at === name.length) return field;
  }
  return undefined;
}

/** llhttp leaves the spaces at the end of a value (RFC 9112 §5.1). */
function trimmedEnd(bytes: Buffer, start: number, end: number): number {
  let last = end;
  while (last > start && isSpace(bytes[last - 1])) last--;
  return last;
}

/** Splits a head whose form llhttp has checked. */
function headersOf(text: string): string[] {
  const raw: string[] = [];
  const [, ...lines] = text.split("\r\n");
  for (const line of lines) {
    const colon = line.indexOf(":");
    raw.push(line.slice(0, colon), trimmed(line, colon + 1));
  }
  return raw;
}

/** The text from `start` on, without the spaces and tabs around it. A pattern would go back for each of those within. */
function trimmed(text: string, start: number): string {
  let [first, end] = [start, text.length];
  while (first < end && isSpace(text.charCodeAt(first))) first++;
  while (end > first && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(first, end);
}

function isSpace(octet: number | undefined): boolean {
  return octet === SPACE || octet === TAB;
}
