/**
 * The tree of services and endpoints in which a visitor ticks what a key may call, and the resource
 * patterns that say the same.
 */
import { matches, parsePattern, type Resource } from "../../../src/contract/resource.js";
import { problemOf } from "./pattern.js";

export interface TreeEndpoint {
  /** Such as `service:orders:Orders.List`. */
  readonly resource: string;
  /** Such as `Orders.List`. */
  readonly name: string;
  /** Whether a call only reads. */
  readonly reads: boolean;
}

export interface TreeService {
  readonly name: string;
  readonly endpoints: readonly TreeEndpoint[];
}

/** Maximum patterns of a key (services/auth/endpoints/keys.ts). */
export const MAX_PATTERNS = 100;

/** The resources of all endpoints that the patterns cover. Invalid patterns cover nothing. */
export function coverage(tree: readonly TreeService[], patterns: readonly string[]): Set<string> {
  const parsed = patterns.filter(isValid).map(parsePattern);
  return new Set(
    tree.flatMap(({ endpoints }) =>
      endpoints
        .filter(({ resource }) => parsed.some((one) => matches(one, resourceOf(resource))))
        .map(({ resource }) => resource),
    ),
  );
}

/** The valid patterns that cover no endpoint. */
export function coveringNothing(tree: readonly TreeService[], patterns: readonly string[]): string[] {
  return patterns.filter((pattern) => isValid(pattern) && coverage(tree, [pattern]).size === 0);
}

/**
 * The patterns after a service was ticked. Endpoints that it gets later are covered too, unless
 * only those are ticked that read.
 */
export function tickService(
  tree: readonly TreeService[],
  patterns: readonly string[],
  { name, endpoints }: TreeService,
  readingOnly: boolean,
): string[] {
  const reading = endpoints.filter(({ reads }) => reads);
  const added = readingOnly ? reading.map(({ resource }) => resource) : [`service:${name}:*`];
  return withAdded(tree, patterns, added);
}

export function tickEndpoint(tree: readonly TreeService[], patterns: readonly string[], resource: string): string[] {
  return withAdded(tree, patterns, [resource]);
}

/**
 * The patterns without some endpoints. A pattern that covers one of them is replaced by patterns
 * for the rest of what it covers; the others stay as they are.
 */
export function untick(tree: readonly TreeService[], patterns: readonly string[], gone: ReadonlySet<string>): string[] {
  const left = patterns.flatMap((pattern) => {
    const covered = coverage(tree, [pattern]);
    if (![...covered].some((resource) => gone.has(resource))) return [pattern];
    const { endpoint } = parsePattern(pattern);
    return tree.flatMap(({ name, endpoints }) => {
      const rest = endpoints.filter(({ resource }) => covered.has(resource) && !gone.has(resource));
      const isWhole = endpoint === "*" && rest.length === endpoints.length && rest.length > 0;
      return isWhole ? [`service:${name}:*`] : rest.map(({ resource }) => resource);
    });
  });
  return shortened(tree, unique(left));
}

function withAdded(tree: readonly TreeService[], patterns: readonly string[], added: readonly string[]): string[] {
  const covered = coverage(tree, added);
  const kept = patterns.filter((pattern) => {
    const own = coverage(tree, [pattern]);
    return own.size === 0 || ![...own].every((resource) => covered.has(resource));
  });
  const missing = added.filter((one) => !kept.some((pattern) => includes(pattern, one)));
  return shortened(tree, unique([...kept, ...missing]));
}

/** Whether whatever `inner` covers is covered by `outer` too. */
function includes(outer: string, inner: string): boolean {
  return isValid(outer) && matches(parsePattern(outer), parsePattern(inner));
}

/**
 * Where there are more patterns than a key may have, endpoints of a service whose names begin with
 * the same words share a pattern, such as `service:orders:Orders.Get*`, if it covers no other
 * endpoint. The services with most patterns are shortened first.
 */
export function shortened(tree: readonly TreeService[], patterns: readonly string[]): string[] {
  let short = [...patterns];
  if (short.length <= MAX_PATTERNS) return short;
  const chosen = coverage(tree, short);
  const isExact = new Set(short);
  const exactOf = ({ endpoints }: TreeService) => endpoints.filter(({ resource }) => isExact.has(resource));
  const services = tree.filter((service) => exactOf(service).length > 1);
  for (const service of services.sort((a, b) => exactOf(b).length - exactOf(a).length)) {
    if (short.length <= MAX_PATTERNS) break;
    const exact = exactOf(service);
    const others = service.endpoints.filter(({ resource }) => !chosen.has(resource));
    const merged = mergedNames(
      exact.map(({ name }) => name),
      others.map(({ name }) => name),
    );
    const replaced = new Set(exact.map(({ resource }) => resource));
    short = [
      ...short.filter((pattern) => !replaced.has(pattern)),
      ...merged.map((name) => `service:${service.name}:${name}`),
    ];
  }
  return short;
}

/** Names, or beginnings of names followed by `*`, that fit all of `names` and none of `others`. */
function mergedNames(names: readonly string[], others: readonly string[]): string[] {
  const merged: string[] = [];
  let rest = [...names];
  while (rest.length > 0) {
    const [first = ""] = rest;
    const start = beginnings(first).find((one) => !others.some((other) => beginsWith(other, one)));
    const fits = start === undefined ? [first] : rest.filter((name) => beginsWith(name, start));
    merged.push(start !== undefined && fits.length > 1 ? `${start}*` : first);
    rest = rest.filter((name) => !fits.includes(name));
  }
  return merged;
}

/** `Orders.`, `Orders.List` and `Orders.ListOpen` for `Orders.ListOpen`: shortest first. */
function beginnings(name: string): string[] {
  return [...name.matchAll(/\.|[a-z0-9](?=[A-Z])|$/g)].map(({ index, 0: end }) => name.slice(0, index + end.length));
}

function beginsWith(name: string, start: string): boolean {
  return name.toLowerCase().startsWith(start.toLowerCase());
}

function isValid(pattern: string): boolean {
  return problemOf(pattern) === undefined;
}

function unique(patterns: readonly string[]): string[] {
  return [...new Set(patterns)];
}

const resources = new Map<string, Resource>();

/** Parsed once, because each change of a pattern compares it with every endpoint. */
function resourceOf(text: string): Resource {
  const known = resources.get(text);
  if (known !== undefined) return known;
  const resource = parsePattern(text);
  resources.set(text, resource);
  return resource;
}
