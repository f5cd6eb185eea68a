/**
 * What it costs to find a path among path templates (gateway/catalog/path-trie.ts), at most: the nodes of the trie that the
 * search visits. Each node has one way on by a literal, one by `*` and one by `**`, and all are tried. So templates with `*` and
 * with a literal at the same places double the ways at each of these: 13 such places make 8,192.
 */
import { ONE, type PathTemplate, REST, type Segment } from "./path-template.js";

/** Most nodes that a search may visit for the templates of one contract. A template has at most 64 segments. */
export const MAX_SEARCH = 256;

class Node {
  readonly literals = new Map<string, Node>();
  one: Node | undefined;
  rest: Node | undefined;
  /** The most that a literal costs from here: a path has one at each place. */
  literalSteps = 0;

  /** Nodes that a search from here visits at most, this one included. */
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
    // What follows ** is searched from the last segment to the first.
    const rest = segments.indexOf(REST);
    const ordered = rest < 0 ? segments : [...segments.slice(0, rest + 1), ...segments.slice(rest + 1).reverse()];
    const way = [this.#root];
    for (const segment of ordered) way.push((way.at(-1) as Node).next(segment));
    // A template only ever adds steps, so of the literals at a node the largest stays the largest.
    for (let at = ordered.length - 1; at >= 0; at--) {
      const [node, child] = [way[at] as Node, way[at + 1] as Node];
      if (typeof ordered[at] === "string") node.literalSteps = Math.max(node.literalSteps, child.steps);
      node.steps = 1 + node.literalSteps + (node.one?.steps ?? 0) + (node.rest?.steps ?? 0);
    }
  }

  /** Nodes that a search visits at most, whatever the path. */
  get steps(): number {
    return this.#root.steps;
  }
}
