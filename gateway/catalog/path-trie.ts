/**
 * Finds the path template that matches a path, with a trie of segments. At each segment a literal
 * is tried before `*`, and `*` before `**`. A template with a verb is tried before a template
 * without one. So a path has one meaning, whatever the order of the templates. The cost of a lookup
 * does not depend on the number of templates. It depends on the number of paths through the trie
 * that can match, and that number is limited.
 *
 *     /v1/shelves/{id}:move    "v1" → "shelves" → * → ends: move
 *     /v1/{name=**}/revisions  "v1" → ** → "revisions" → ends
 *
 * The segments after `**` are stored from the last to the first.
 */
import { decodePart, type PathTemplate, REST } from "../../src/contract/path-template.js";
import { MAX_SEARCH } from "../../src/contract/search-cost.js";

/** A template with the HTTP methods to which it applies. */
export interface TemplateEntry {
  readonly template: PathTemplate;
  /** `*` for every method. */
  readonly httpMethod: string;
}

export interface PathMatch<T> {
  readonly entry: T;
  /** The segments of the path as sent, without the verb. */
  readonly parts: readonly string[];
}

/** Maximum characters and segments of a path. A longer path matches nothing. */
const MAX_PATH = 8_192;
const MAX_PARTS = 256;
/** Maximum colons in the last segment that are tried as the start of a verb. */
const MAX_COLONS = 8;

/**
 * Maximum nodes that one lookup visits. If a path needs more, it matches nothing. The templates of
 * one contract need at most MAX_SEARCH (src/contract/search-cost.ts), so this limit is for the
 * templates of many services together.
 */
const MAX_VISITS = 4 * MAX_SEARCH;

/** The entries that end at a node, by verb and method. The first of a list is called. */
type Ends<T> = Map<string, Map<string, T[]>>;

/** The maps are made only when they are needed, because most nodes have only one of them. */
class Node<T> {
  literals: Map<string, Node<T>> | undefined;
  /** The node after `*`. */
  one: Node<T> | undefined;
  /** The node after `**`. The segments after `**` are stored from the last to the first. */
  rest: Node<T> | undefined;
  ends: Ends<T> | undefined;

  get isEmpty(): boolean {
    return !this.literals?.size && this.one === undefined && this.rest === undefined && !this.ends?.size;
  }
}

export class PathTrie<T extends TemplateEntry> {
  readonly #root = new Node<T>();
  /** How many templates have each verb. */
  readonly #verbs = new Map<string, number>();
  readonly #before: (one: T, other: T) => boolean;

  /** @param before whether an entry precedes another one of the same method and shape */
  constructor(before: (one: T, other: T) => boolean) {
    this.#before = before;
  }

  get isEmpty(): boolean {
    return this.#root.isEmpty;
  }

  /**
   * Adds an entry. @returns all entries of the same method and shape, in their order: the first one
   * is found
   */
  add(entry: T): readonly T[] {
    const { template, httpMethod } = entry;
    const { verb } = template;
    const node = walk(this.#root, template, true) as Node<T>;
    node.ends ??= new Map();
    const byMethod = node.ends.get(verb) ?? new Map<string, T[]>();
    node.ends.set(verb, byMethod);
    const entries = byMethod.get(httpMethod) ?? [];
    // It searches from the end, because the entries of one service are added one after the other.
    let at = entries.length;
    while (at > 0 && this.#before(entry, entries[at - 1] as T)) at--;
    entries.splice(at, 0, entry);
    byMethod.set(httpMethod, entries);
    if (verb !== "") this.#verbs.set(verb, (this.#verbs.get(verb) ?? 0) + 1);
    return entries;
  }

  delete(entry: T): void {
    const { template, httpMethod } = entry;
    const { verb } = template;
    const byMethod = walk(this.#root, template, false)?.ends?.get(verb);
    const entries = byMethod?.get(httpMethod);
    const at = entries?.indexOf(entry) ?? -1;
    if (byMethod === undefined || entries === undefined || at < 0) return;
    entries.splice(at, 1);
    if (entries.length === 0) byMethod.delete(httpMethod);
    const uses = (this.#verbs.get(verb) ?? 0) - 1;
    if (uses > 0) this.#verbs.set(verb, uses);
    else this.#verbs.delete(verb);
    if (byMethod.size === 0) prune(this.#root, template);
  }

  /** The entry for a method and a path as sent, without the query. */
  find(httpMethod: string, path: string): PathMatch<T> | undefined {
    const visits = { left: MAX_VISITS };
    for (const [parts, verb] of this.#readings(path)) {
      const take = (ends: Ends<T>): T | undefined => {
        const byMethod = ends.get(verb);
        return (byMethod?.get(httpMethod) ?? byMethod?.get("*"))?.[0];
      };
      const entry = search(this.#root, { parts, literals: parts.map(decodePart), take }, 0, visits);
      if (entry !== undefined) return { entry, parts };
    }
    return undefined;
  }

  /** The methods with which a path matches some template; empty if it matches none. */
  methodsOf(path: string): ReadonlySet<string> {
    const methods = new Set<string>();
    const visits = { left: MAX_VISITS };
    for (const [parts, verb] of this.#readings(path)) {
      const take = (ends: Ends<T>): undefined => {
        for (const method of ends.get(verb)?.keys() ?? []) methods.add(method);
      };
      search(this.#root, { parts, literals: parts.map(decodePart), take }, 0, visits);
    }
    return methods;
  }

  /**
   * The segments and the verb of a path, for each possible start of a verb: the longest verb first,
   * the path without a verb last.
   */
  *#readings(path: string): Generator<[parts: string[], verb: string]> {
    if (path.length > MAX_PATH || !path.startsWith("/")) return;
    const parts = path.slice(1).split("/", MAX_PARTS + 1);
    if (parts.length > MAX_PARTS) return;
    const last = parts.at(-1) as string;
    let colon = this.#verbs.size === 0 ? -1 : last.indexOf(":");
    for (let colons = 0; colon >= 0 && colons < MAX_COLONS; colons++) {
      const verb = decodePart(last.slice(colon + 1));
      if (verb !== undefined && this.#verbs.has(verb)) yield [[...parts.slice(0, -1), last.slice(0, colon)], verb];
      colon = last.indexOf(":", colon + 1);
    }
    yield [parts, ""];
  }
}

/** The node of a template. If there is none and `make` is false, it returns undefined. */
function walk<T>(root: Node<T>, { segments }: PathTemplate, make: boolean): Node<T> | undefined {
  let node: Node<T> | undefined = root;
  for (const [key, isRest] of steps(segments)) {
    let next: Node<T> | undefined = isRest ? node.rest : key === undefined ? node.one : node.literals?.get(key);
    if (next === undefined) {
      if (!make) return undefined;
      next = new Node();
      if (isRest) node.rest = next;
      else if (key === undefined) node.one = next;
      else {
        node.literals ??= new Map();
        node.literals.set(key, next);
      }
    }
    node = next;
  }
  return node;
}

/**
 * The edges from the root to a template's node: a literal, or undefined for `*`. The edges after
 * `**` come in reverse order.
 */
function* steps(segments: PathTemplate["segments"]): Generator<[literal: string | undefined, isRest: boolean]> {
  const rest = segments.indexOf(REST);
  const ordered = rest < 0 ? segments : [...segments.slice(0, rest + 1), ...segments.slice(rest + 1).reverse()];
  for (const segment of ordered) yield [typeof segment === "string" ? segment : undefined, segment === REST];
}

/** Removes the nodes of a template that no other template uses. */
function prune<T>(root: Node<T>, { segments, verb }: PathTemplate): void {
  const path: [node: Node<T>, literal: string | undefined, isRest: boolean][] = [];
  let node = root;
  for (const [key, isRest] of steps(segments)) {
    path.push([node, key, isRest]);
    node = (isRest ? node.rest : key === undefined ? node.one : node.literals?.get(key)) as Node<T>;
  }
  node.ends?.delete(verb);
  for (const [parent, key, isRest] of path.reverse()) {
    if (!node.isEmpty) return;
    if (isRest) parent.rest = undefined;
    else if (key === undefined) parent.one = undefined;
    else parent.literals?.delete(key);
    node = parent;
  }
}

/** One way to read a path, for a search in the trie. */
interface Search<T> {
  readonly parts: readonly string[];
  /** The decoded parts; undefined for a part that cannot be decoded. */
  readonly literals: readonly (string | undefined)[];
  /**
   * Called with the entries at a node where the parts end. The search goes on while it returns
   * undefined.
   */
  readonly take: (ends: Ends<T>) => T | undefined;
}

/** Nodes that a lookup may still visit before it gives up. */
interface Visits {
  left: number;
}

/**
 * Searches the nodes to which the parts from `at` on lead, the most specific first, until `take`
 * returns an entry.
 */
function search<T>(node: Node<T>, path: Search<T>, at: number, visits: Visits): T | undefined {
  if (--visits.left < 0) return undefined;
  if (at === path.parts.length) {
    const found = node.ends && path.take(node.ends);
    if (found !== undefined) return found;
  } else {
    const literal = node.literals?.get(path.literals[at] as string);
    const found = literal && search(literal, path, at + 1, visits);
    if (found !== undefined) return found;
    const other = node.one && path.parts[at] !== "" ? search(node.one, path, at + 1, visits) : undefined;
    if (other !== undefined) return other;
  }
  return node.rest && searchRest(node.rest, path, at, path.parts.length - 1, visits);
}

/**
 * The same search after `**`, with the parts from `last` back to `at`. It tries the path with the
 * most parts first, because it is the most specific.
 */
function searchRest<T>(node: Node<T>, path: Search<T>, at: number, last: number, visits: Visits): T | undefined {
  if (--visits.left < 0) return undefined;
  if (last >= at) {
    const literal = node.literals?.get(path.literals[last] as string);
    const found = literal && searchRest(literal, path, at, last - 1, visits);
    if (found !== undefined) return found;
    const other = node.one && path.parts[last] !== "" ? searchRest(node.one, path, at, last - 1, visits) : undefined;
    if (other !== undefined) return other;
  }
  return node.ends && path.take(node.ends);
}
