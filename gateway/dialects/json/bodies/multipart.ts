/**
 * A parser of `multipart/form-data` (RFC 7578, RFC 2046 §5.1). The content of a part is a view of
 * the body, and each search continues where the last one ended. So the cost of a form is
 * proportional to its length, whatever it contains.
 */
import { isUtf8 } from "node:buffer";
import { HttpError } from "../../../http/errors.js";

export interface FormPart {
  readonly name: string;
  /** Whether the part has a file name, and therefore is a file. */
  readonly isFile: boolean;
  /** A view of the body, not a copy. */
  readonly content: Buffer;
}

/** The limit exists because a part costs far more than its few bytes. */
const MAX_PARTS = 1000;
/** Maximum bytes of a part's headers. */
const MAX_HEAD = 8 * 1024;
const DASHES = Buffer.from("--");
const LINE_END = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");
const [TAB, SPACE] = [0x09, 0x20];

/**
 * The parts, in their order. The content type names their boundary.
 * @throws {HttpError} 400 when the body is no form
 */
export function* partsOf(contentType: string, body: Buffer): Generator<FormPart> {
  const delimiter = Buffer.from(`\r\n--${boundaryOf(contentType)}`);
  let at = afterFirst(body, delimiter);
  for (let number = 1; !startsWith(body, at, DASHES); number++) {
    if (number > MAX_PARTS) throw new HttpError(400, `The form has more than ${MAX_PARTS} parts`);
    const start = nextLine(body, at);
    const end = body.indexOf(delimiter, start);
    if (end < 0) throw new HttpError(400, `The form does not end with ${delimiter.subarray(2)}--`);
    yield partOf(body.subarray(start, end), number);
    at = end + delimiter.length;
  }
  nextLine(body, at + DASHES.length);
}

/** The offset after the first boundary. The preamble before it is ignored (RFC 2046 §5.1.1). */
function afterFirst(body: Buffer, delimiter: Buffer): number {
  const first = delimiter.subarray(LINE_END.length);
  if (startsWith(body, 0, first)) return first.length;
  const at = body.indexOf(delimiter);
  if (at < 0) throw new HttpError(400, `The body has no line ${first}, the boundary that Content-Type names`);
  return at + delimiter.length;
}

/** The offset of the next line. The rest of this line may contain only white space. */
function nextLine(body: Buffer, at: number): number {
  let end = at;
  while (body[end] === SPACE || body[end] === TAB) end++;
  if (end === body.length) return end;
  if (startsWith(body, end, LINE_END)) return end + LINE_END.length;
  throw new HttpError(400, `The form has a line that begins with the boundary, and something else at byte ${end}`);
}

function startsWith(body: Buffer, at: number, bytes: Buffer): boolean {
  return body.subarray(at, at + bytes.length).equals(bytes);
}

const DISPOSITION = /^content-disposition[ \t]*:[ \t]*form-data[ \t]*(;.*)$/gim;
const ENCODING = /^content-transfer-encoding[ \t]*:(?![ \t]*(?:7bit|8bit|binary)[ \t]*$)/im;

function partOf(part: Buffer, number: number): FormPart {
  const invalid = (reason: string) => new HttpError(400, `Part ${number} of the form ${reason}`);
  const end = part.subarray(0, MAX_HEAD).indexOf(HEAD_END);
  if (end < 0) throw invalid("has no headers that end with an empty line within 8 KiB");
  if (!isUtf8(part.subarray(0, end))) throw invalid("has headers that are not UTF-8");
  const head = part.toString("utf8", 0, end);
  if (ENCODING.test(head)) throw invalid("has a Content-Transfer-Encoding; its bytes must be sent as they are");
  const [disposition, another] = Array.from(head.matchAll(DISPOSITION), ([, parameters = ""]) => parameters);
  const parameters = another === undefined ? parametersOf(disposition ?? "") : undefined;
  const name = parameters?.get("name");
  if (parameters === undefined || name === undefined) {
    throw invalid('must have one header Content-Disposition: form-data; name="…"');
  }
  const isFile = parameters.has("filename") || parameters.has("filename*");
  return { name: name.replace(ESCAPED, decodeURIComponent), isFile, content: part.subarray(end + HEAD_END.length) };
}

/**
 * The escapes that browsers write for quotes and line ends in names.
 * https://html.spec.whatwg.org/#multipart-form-data
 */
const ESCAPED = /%(?:0A|0D|22)/g;

const BOUNDARY = /^[\x20-\x7e]{0,69}[\x21-\x7e]$/;

function boundaryOf(contentType: string): string {
  const boundary = parametersOf(contentType)?.get("boundary") ?? "";
  if (BOUNDARY.test(boundary)) return boundary;
  throw new HttpError(400, "Content-Type must name the form's boundary: one, of 1 to 70 characters of ASCII");
}

/** `; name=value` or `; name="value"`. The last parameter may be empty. */
const PARAMETER = /;[ \t]*(?:$|([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))[ \t]*)/y;

/** A header's parameters by lower-case name; undefined if they are malformed or one is repeated. */
function parametersOf(header: string): Map<string, string> | undefined {
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = header.indexOf(";");
  while (PARAMETER.lastIndex < header.length) {
    const [match, name, quoted, plain = ""] = PARAMETER.exec(header) ?? [];
    if (match === undefined) return undefined;
    if (name === undefined) break;
    if (parameters.has(name.toLowerCase())) return undefined;
    // Browsers do not escape a backslash before other characters.
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(["\\])/g, "$1") ?? plain);
  }
  return parameters;
}
