/**
 * A resource is the name of something that can be called, `type:name:endpoint`. A pattern matches
 * many resources: each segment is a literal, `*`, or a literal followed by `*`. Case is ignored.
 */

/** A resource or a pattern, in lower case. */
export interface Resource {
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
}

const MAX_LENGTH = 256;
const SEGMENT = /(\*|[a-z0-9._-]+\*?)/.source;
const PATTERN = new RegExp(`^${SEGMENT}:${SEGMENT}:${SEGMENT}$`);
const ONE_SEGMENT = new RegExp(`^${SEGMENT}$`);

/** Reads a pattern. @throws {SyntaxError} with a message for its author */
export function parsePattern(text: string): Resource {
  // A UTF-16 code unit has at most three bytes in UTF-8.
  if (text.length > MAX_LENGTH / 3 && new TextEncoder().encode(text).length > MAX_LENGTH)
    throw new SyntaxError(`resource is longer than ${MAX_LENGTH} bytes`);
  const [, type, name, endpoint] = PATTERN.exec(text.toLowerCase()) ?? [];
  if (type === undefined || name === undefined || endpoint === undefined) throw new SyntaxError(whatIsWrong(text));
  return { type, name, endpoint };
}

function whatIsWrong(text: string): string {
  const resource = `resource "${printable(text)}"`;
  const segments = text.toLowerCase().split(":");
  // As messages and `portico auth explain` name an endpoint.
  if (
    segments.length === 2 &&
    !/^(?:service|\*)$/.test(segments[0] ?? "") &&
    PATTERN.test(`service:${segments.join(":")}`)
  ) {
    return `${resource} must have three segments; an endpoint of a service is service:${text}`;
  }
  if (segments.length !== 3) return `${resource} must have three segments, type:name:endpoint, such as *:*:*`;
  const wrong = segments.find((segment) => !ONE_SEGMENT.test(segment)) ?? "";
  return `${resource}: segment "${printable(wrong)}" must be a literal, *, or a literal ending in * (letters, digits, . _ -)`;
}

/** A text from a user, shortened and without control characters, for a message on a terminal. */
export function printable(text: string): string {
  return text.slice(0, 64).replaceAll(/\p{C}/gu, "?");
}

/** Whether a pattern's segment matches a resource's segment; both in lower case. */
export function segmentMatches(pattern: string, segment: string): boolean {
  if (pattern === "*") return true;
  return pattern.endsWith("*") ? segment.startsWith(pattern.slice(0, -1)) : pattern === segment;
}

/** Whether a pattern matches a resource. */
export function matches(pattern: Resource, resource: Resource): boolean {
  return (
    segmentMatches(pattern.type, resource.type) &&
    segmentMatches(pattern.name, resource.name) &&
    segmentMatches(pattern.endpoint, resource.endpoint)
  );
}

/** Whether some resource matches both patterns. */
export function overlap(one: Resource, other: Resource): boolean {
  return (
    segmentsOverlap(one.type, other.type) &&
    segmentsOverlap(one.name, other.name) &&
    segmentsOverlap(one.endpoint, other.endpoint)
  );
}

function segmentsOverlap(one: string, other: string): boolean {
  const [a, b] = [one.replace("*", ""), other.replace("*", "")];
  if (one.endsWith("*") && b.startsWith(a)) return true;
  return other.endsWith("*") ? a.startsWith(b) : one === other;
}

/** Whether a pattern, in the form that `parsePattern` reads, matches endpoints of services. */
export function isOfServices(pattern: string): boolean {
  return segmentMatches(pattern.slice(0, pattern.indexOf(":")).toLowerCase(), "service");
}

/**
 * Whether a pattern matches any endpoint of a service.
 * @param pattern in the form that `parsePattern` reads
 * @param service its name, in lower case
 */
export function coversService(pattern: string, service: string): boolean {
  const first = pattern.indexOf(":");
  const second = pattern.indexOf(":", first + 1);
  return (
    segmentMatches(pattern.slice(0, first).toLowerCase(), "service") &&
    segmentMatches(pattern.slice(first + 1, second).toLowerCase(), service)
  );
}
