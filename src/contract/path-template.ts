/**
 * Path templates of `google.api.http` annotations, such as
 * `/v1/{name=shelves/*}/books/{book}:move`: their syntax, and the values of their variables in a
 * path. The rules are in google/api/http.proto ("Path template syntax"). In addition, literals and
 * `*` may follow a `**`, as in Google's own APIs (google/firestore/v1/firestore.proto).
 */

/** Matches one non-empty segment: `*`. */
export const ONE = 1;
/**
 * Matches any number of segments, also none, except those that the rest of the template matches:
 * `**`.
 */
export const REST = 2;

/** A percent-decoded literal, or one of the two wildcards. */
export type Segment = string | typeof ONE | typeof REST;

/** A part of the path whose text is the value of a field. */
export interface Variable {
  /** Names of fields in the .proto file: `["shelf", "name"]` for `{shelf.name}`. */
  readonly fieldPath: readonly string[];
  /** Index of its first segment. */
  readonly start: number;
  /** Index after its last segment. */
  readonly end: number;
  /**
   * Whether its template has several segments or `**`. If so, `%2F` is not decoded in its value.
   */
  readonly isMulti: boolean;
}

export interface PathTemplate {
  /** The template as annotated, with the service's prefix in front. */
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly variables: readonly Variable[];
  /** The text after the colon in the last segment, `move`; empty for none. */
  readonly verb: string;
}

/** Maximum number of characters and segments of a template. */
const MAX_LENGTH = 1_024;
const MAX_SEGMENTS = 64;

/** A literal: `pchar` of RFC 3986 §3.3. In the last segment, a colon begins the verb instead. */
const LITERAL = /^(?:[A-Za-z0-9._~!$&'()*+,;=@:-]|%[0-9A-Fa-f]{2})+$/;
const FIELD_PATH = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;

/** @throws {SyntaxError} with a message for the author of the .proto file */
export function parsePathTemplate(text: string): PathTemplate {
  if (text.length > MAX_LENGTH) throw new SyntaxError(`the template is longer than ${MAX_LENGTH} characters`);
  try {
    return new Parser(text).parse();
  } catch (error) {
    throw new SyntaxError(`the template ${JSON.stringify(text)} ${(error as Error).message}`);
  }
}

class Parser {
  readonly #text: string;
  readonly #segments: Segment[] = [];
  readonly #variables: Variable[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  parse(): PathTemplate {
    const text = this.#text;
    if (!text.startsWith("/")) throw new SyntaxError("must begin with /");
    const colon = text.indexOf(":", Math.max(text.lastIndexOf("/"), text.lastIndexOf("}")) + 1);
    const verb = colon < 0 ? "" : decodeLiteral(text.slice(colon + 1));
    const path = colon < 0 ? text : text.slice(0, colon);
    for (let at = 1; at <= path.length; ) at = path[at] === "{" ? this.#variable(path, at) : this.#segment(path, at);
    // With two of them, a path could match in several ways.
    if (this.#segments.indexOf(REST) !== this.#segments.lastIndexOf(REST)) throw new SyntaxError("has a second **");
    if (this.#segments.length > MAX_SEGMENTS) throw new SyntaxError(`has more than ${MAX_SEGMENTS} segments`);
    return { text, segments: this.#segments, variables: this.#variables, verb };
  }

  /** Reads a segment. @returns the index after the following slash */
  #segment(path: string, at: number): number {
    const slash = path.indexOf("/", at);
    const end = slash < 0 ? path.length : slash;
    this.#segments.push(segmentOf(path.slice(at, end)));
    return end + 1;
  }

  /** Reads a variable. @returns the index after the following slash */
  #variable(path: string, at: number): number {
    const end = path.indexOf("}", at);
    if (end < 0) throw new SyntaxError("has a { without }");
    const content = path.slice(at + 1, end);
    if (content.includes("{")) throw new SyntaxError("has a variable within a variable");
    if (end + 1 < path.length && path[end + 1] !== "/") throw new SyntaxError("has text after a variable's }");
    const equals = content.indexOf("=");
    const name = equals < 0 ? content : content.slice(0, equals);
    if (!FIELD_PATH.test(name)) throw new SyntaxError(`has the variable ${JSON.stringify(name)}, which is no field`);
    if (this.#variables.some(({ fieldPath }) => fieldPath.join(".") === name)) {
      throw new SyntaxError(`has the variable ${name} twice`);
    }
    const inner = (equals < 0 ? "*" : content.slice(equals + 1)).split("/").map(segmentOf);
    if (content.includes(":")) throw new SyntaxError("has a colon within a variable");
    const start = this.#segments.length;
    this.#segments.push(...inner);
    const isMulti = inner.length > 1 || inner[0] === REST;
    this.#variables.push({ fieldPath: name.split("."), start, end: this.#segments.length, isMulti });
    return end + 2;
  }
}

function segmentOf(text: string): Segment {
  if (text === "*") return ONE;
  return text === "**" ? REST : decodeLiteral(text);
}

function decodeLiteral(text: string): string {
  if (text === "") throw new SyntaxError("has an empty segment or verb");
  if (!LITERAL.test(text))
    throw new SyntaxError(`has ${JSON.stringify(text)}, which a path can only have percent-encoded`);
  const decoded = decodePart(text);
  if (decoded === undefined) throw new SyntaxError(`has ${JSON.stringify(text)}, which is not UTF-8`);
  return decoded;
}

/**
 * The template without its variables, `/v1/shelves/*`. Two templates with the same shape match the
 * same paths.
 */
export function shapeOf({ segments, verb }: PathTemplate): string {
  const parts = segments.map((segment) => {
    if (segment === ONE) return "*";
    return segment === REST ? "**" : encodeURIComponent(segment).replaceAll("*", "%2A");
  });
  return `/${parts.join("/")}${verb === "" ? "" : `:${encodeURIComponent(verb)}`}`;
}

/**
 * The values of a template's variables in a matching path, in the order of its variables.
 * @param parts the segments of the path as sent, without the verb
 * @returns undefined if a percent-encoding is malformed or is not UTF-8
 */
export function valuesOf({ segments, variables }: PathTemplate, parts: readonly string[]): string[] | undefined {
  const rest = segments.indexOf(REST);
  // The number of segments that the path has more than the template; `**` matches them.
  const more = parts.length - segments.length;
  const values: string[] = [];
  for (const { start, end, isMulti } of variables) {
    const first = rest >= 0 && start > rest ? start + more : start;
    const last = rest >= 0 && end > rest ? end + more : end;
    const value = isMulti ? decodeParts(parts.slice(first, last).join("/")) : decodePart(parts[first] ?? "");
    if (value === undefined) return undefined;
    values.push(value);
  }
  return values;
}

/** A segment with all percent-encodings decoded; undefined if one is malformed or is not UTF-8. */
export function decodePart(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * Several segments with all percent-encodings decoded except `%2F`, so that segments stay distinct.
 */
function decodeParts(text: string): string | undefined {
  if (!text.includes("%")) return text;
  const chunks = text.split(/(%2[Ff])/).map((chunk, index) => (index % 2 === 1 ? chunk : decodePart(chunk)));
  return chunks.includes(undefined) ? undefined : chunks.join("");
}
