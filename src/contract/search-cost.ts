/**
 * The maximum cost of finding a path among path templates (gateway/catalog/path-trie.ts): the
 * number of trie nodes that the search visits. From each node it may continue by a literal, by `*`
 * and by `**`, and it tries all three. So where templates have both `*` and a literal at the same
 * position, the cost doubles: 13 such positions make 8,192.
 */
import { ONE, type PathTemplate, REST, type Segment } from "./path-template.js";

/**
 * Maximum number of nodes that a search may visit for the templates of one contract. A template has
 * at most 64 segments.
 */
export const MAX_SEARCH = 256;

class Node {
  readonly literals = new Map<string, Node>();
  one: Node | undefined;
  rest: Node | undefined;
  /** Maximum cost of a literal from here. A path has only one literal at each position. */
  literalSteps = 0;

  /** Maximum number of nodes that a search from here visits, including this one. */
  steps = 1;

  next(segment: Segment): Node {
    if (segment === ONE) {
      this.one ??= new Node();
      return this.one;
    }
    if (segment === REST) {
      this.rest ??= new Node();
      return this.rest;
    }
    let next = this.literals.get(segment);
    if (next === undefined) {
      next = new Node();
      this.literals.set(segment, next);
    }
    return next;
  }
}

export class SearchCost {
  readonly #root = new Node();

  add({ segments }: PathTemplate): void {
    // The segments after ** are searched from the last to the first.
    const rest = segments.indexOf(REST);
    const ordered = rest < 0 ? segments : [...segments.slice(0, rest + 1), ...segments.slice(rest + 1).reverse()];
    const path = [this.#root];
    for (const segment of ordered) path.push((path.at(-1) as Node).next(segment));
    // Adding a template never reduces steps, so the most expensive literal of a node stays the
    // maximum.
    for (let at = ordered.length - 1; at >= 0; at--) {
      const [node, child] = [path[at] as Node, path[at + 1] as Node];
      if (typeof ordered[at] === "string") node.literalSteps = Math.max(node.literalSteps, child.steps);
      node.steps = 1 + node.literalSteps + (node.one?.steps ?? 0) + (node.rest?.steps ?? 0);
    }
  }

  /** Maximum number of nodes that a search visits, for any path. */
  get steps(): number {
    return this.#root.steps;
  }
}
