/**
 * The paths that Portico itself serves: its pages, documents, health and metadata, `/mcp`, and the
 * paths of its services `auth` and `registry`. A binding of `google.api.http` never gets a call
 * with such a path, neither by its literals nor by a wildcard.
 */
import { BUILT_IN_ROOTS, RESERVED_PACKAGES, SELF_GOVERNED } from "./names.js";
import { decodePart, type PathTemplate } from "./path-template.js";

const ROOTS: readonly string[] = BUILT_IN_ROOTS.filter((root) => root !== "/");
/**
 * First segments, in lower case, of paths that are built-in routes. For `/v1` the second segment
 * decides, too.
 */
const BUILT_IN: ReadonlySet<string> = new Set([...ROOTS.map((root) => root.slice(1)), ...SELF_GOVERNED]);

/** Whether a path is a built-in route. @param path as sent, without the query */
export function isBuiltInRoute(path: string): boolean {
  if (path === "/") return true;
  const end = path.indexOf("/", 1);
  const first = literal(end < 0 ? path.slice(1) : path.slice(1, end));
  if (first !== "v1") return isBuiltInFirst(first);
  const next = end < 0 ? end : path.indexOf("/", end + 1);
  return end >= 0 && SELF_GOVERNED.has(literal(next < 0 ? path.slice(end + 1) : path.slice(end + 1, next)));
}

function literal(segment: string): string {
  return decodePart(segment)?.toLowerCase() ?? "";
}

function isBuiltInFirst(first: string): boolean {
  return first !== "v1" && (BUILT_IN.has(first) || RESERVED_PACKAGES.test(first));
}

/** Which of a template's paths are built-in routes. */
export interface BuiltInOverlap {
  /** Whether all its paths are built-in routes. Then the binding is never called. */
  readonly isWhole: boolean;
  /** A message for the author of the binding. */
  readonly text: string;
}

/** Undefined if the template matches no built-in route. */
export function builtInOverlapOf({ text, segments }: PathTemplate, httpMethod: string): BuiltInOverlap | undefined {
  const [first, second] = segments.map((segment) => (typeof segment === "string" ? segment.toLowerCase() : segment));
  const shown = `${httpMethod} ${text}`;
  const below = (path: string) => ({ isWhole: true, text: `${shown} is below ${path}, which is Portico's own` });
  const beside = (paths: string) => ({
    isWhole: false,
    text: `${shown} also matches paths that are Portico's own, such as ${paths}: there Portico answers`,
  });
  if (typeof first !== "string") return beside("/console and /v1/auth");
  if (first !== "v1") return isBuiltInFirst(first) ? below(`/${first}`) : undefined;
  if (typeof second === "string") return SELF_GOVERNED.has(second) ? below(`/v1/${second}`) : undefined;
  return second === undefined ? undefined : beside("/v1/auth and /v1/registry");
}
