/**
 * Finds the path template that a path matches: a trie by segments. At each segment a literal goes before `*`, and `*` before
 * `**`; a template with a verb goes before those without. So a path has one meaning, whatever the order of the templates, and
 * the cost of a lookup depends on how many ways lead through the templates, which is bounded, and not on how many there are.
 *
 *     /v1/shelves/{id}:move    "v1" → "shelves" → * → ends: move
 *     /v1/{name=**}/revisions  "v1" → ** → "revisions" → ends   (what follows ** from the last to the first)
 */
import { decodePart, type PathTemplate, REST } from "../../src/contract/path-template.js";
import { MAX_SEARCH } from "../../src/contract/search-cost.js";

/** A template with the methods of HTTP that are its own. */
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

/** Longest path, in characters, and most of its segments. Longer ones match nothing. */
const MAX_PATH = 8_192;
const MAX_PARTS = 256;
/** Most colons of a last segment after which a verb is looked for. */
const MAX_COLONS = 8;

/**
 * Most nodes that one lookup visits; a path that takes more matches nothing. The templates of one contract take at most
 * MAX_SEARCH (src/contract/search-cost.ts), so this is for what many services have together.
 */
const MAX_VISITS = 4 * MAX_SEARCH;

/** What ends at a node: by verb and method. Of several, the first one is called. */
type Ends<T> = Map<string, Map<string, T[]>>;

/** Its maps are made only where they are needed: most nodes have one of them. */
class Node<T> {
  literals: Map<string, Node<T>> | undefined;
  one: Node<T> | undefined;
  /** Where what follows `**` begins, the last one first. */
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

  /** @param before whether an entry goes before another of the same method and shape */
  constructor(before: (one: T, other: T) => boolean) {
    this.#before = before;
  }

  get isEmpty(): boolean {
    return this.#root.isEmpty;
  }

  /** Adds an entry. @returns all of the same method and shape, in their order: the first is the one that is found */
  add(entry: T): readonly T[] {
    const { template, httpMethod } = entry;
    const { verb } = template;
    const node = walk(this.#root, template, true) as Node<T>;
    node.ends ??= new Map();
    const byMethod = node.ends.get(verb) ?? new Map<string, T[]>();
    node.ends.set(verb, byMethod);
    const entries = byMethod.get(httpMethod) ?? [];
    // From the end: those of one service come one after the other.
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

  /** The methods with which a path matches some template; empty where it matches none. */
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

  /** The segments and the verb of a path, in each way in which it may be read: the longest verb first, at last without one. */
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

/** The node of a template; undefined where there is none and it must not be made. */
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

/** The edges from the root to a template's node: a literal, or `*` without one; what follows `**` backwards. */
function* steps(segments: PathTemplate["segments"]): Generator<[literal: string | undefined, isRest: boolean]> {
  const rest = segments.indexOf(REST);
  const ordered = rest < 0 ? segments : [...segments.slice(0, rest + 1), ...segments.slice(rest + 1).reverse()];
  for (const segment of ordered) yield [typeof segment === "string" ? segment : undefined, segment === REST];
}

/** Removes the nodes of a template that nothing needs any more. */
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

/** One reading of a path, to be searched for in the trie. */
interface Search<T> {
  readonly parts: readonly string[];
  /** The parts decoded; undefined for one that cannot be. */
  readonly literals: readonly (string | undefined)[];
  /** Looks at what ends at a node where the parts end. */
  readonly take: (ends: Ends<T>) => T | undefined;
}

/** Nodes that a lookup may visit before it gives up. */
interface Visits {
  left: number;
}

/** Searches the nodes that the parts from `at` on lead to, the most specific first, until `take` gives something. */
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

/** The same behind `**`: by the parts from `last` back to `at`, the more of them the more specific. */
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
