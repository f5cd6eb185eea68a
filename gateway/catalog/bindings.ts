/**
 * The paths that services have by `google.api.http` annotations, their bindings. All services share one space of paths: of two
 * bindings with the same method and shape, the one of the service whose name sorts first is called, at every gateway alike.
 */

import { builtInOverlapOf, isBuiltInRoute } from "../../src/contract/built-in-routes.js";
import { type Binding, bindingsOf, type HttpRuleBindings as MethodBindings } from "../../src/contract/http-rule.js";
import { shapeOf } from "../../src/contract/path-template.js";
import { type PathMatch, PathTrie, type TemplateEntry } from "./path-trie.js";
import type { Target } from "./target.js";

/** A binding of an endpoint that can be called. */
export interface BoundTarget extends TemplateEntry {
  readonly target: Target;
  readonly binding: Binding;
}

interface BoundService {
  readonly bound: readonly BoundTarget[];
  /** What was told about them the last time. */
  readonly problems: readonly string[];
}

/** Most problems that are told of a service at once. */
const MAX_TOLD = 20;

export class BindingTable {
  readonly #trie = new PathTrie<BoundTarget>(
    (one, other) => one.target.endpoint.service < other.target.endpoint.service,
  );
  readonly #services = new Map<string, BoundService>();
  /** Those whose template has literals alone, by their path in lower case. */
  readonly #literal = new Map<string, BoundTarget>();

  get isEmpty(): boolean {
    return this.#trie.isEmpty;
  }

  /**
   * Adds the bindings of a service, or replaces all of them at once.
   * @param prefix before each path, such as `/api`
   * @param isRoute whether a path, in lower case, is one of an endpoint's own
   * @returns what is wrong with its bindings and was not so before, for the operator
   */
  set(service: string, targets: readonly Target[], prefix: string, isRoute: (path: string) => boolean): string[] {
    const before = new Set(this.#services.get(service)?.problems);
    this.delete(service);
    const bound: BoundTarget[] = [];
    const problems: string[] = [];
    for (const target of targets) {
      const { bindings, problems: own } = bindingsFor(target, prefix);
      problems.push(...own.map((problem) => `${target.endpoint.name}: ${problem}`));
      for (const binding of bindings) {
        const entry: BoundTarget = { ...binding, target, binding };
        const hidden = problemOf(entry, isRoute);
        if (hidden === undefined) bound.push(entry);
        const found = hidden === undefined ? [this.#add(entry), partlyHidden(entry)] : [hidden];
        for (const problem of found) if (problem !== undefined) problems.push(`${target.endpoint.name}: ${problem}`);
      }
    }
    if (bound.length > 0 || problems.length > 0) this.#services.set(service, { bound, problems });
    const reported = problems.filter((problem) => !before.has(problem));
    if (reported.length <= MAX_TOLD) return reported;
    return [...reported.slice(0, MAX_TOLD), `and ${reported.length - MAX_TOLD} more`];
  }

  delete(service: string): void {
    for (const entry of this.#services.get(service)?.bound ?? []) {
      this.#trie.delete(entry);
      const path = literalPathOf(entry);
      if (path !== undefined && this.#literal.get(path) === entry) this.#literal.delete(path);
    }
    this.#services.delete(service);
  }

  /** The binding for a method and a path as sent. Portico's own paths have none. */
  find(httpMethod: string, path: string): PathMatch<BoundTarget> | undefined {
    return isBuiltInRoute(path) ? undefined : this.#trie.find(httpMethod, path);
  }

  /** The bindings of an endpoint that are called at their paths. */
  of({ service, name }: Target["endpoint"]): Binding[] {
    const all = this.#services.get(service)?.bound ?? [];
    return all.flatMap(({ target, binding }) => (target.endpoint.name === name ? [binding] : []));
  }

  /** The methods of the bindings that match a path. */
  methodsOf(path: string): ReadonlySet<string> {
    return isBuiltInRoute(path) ? new Set() : this.#trie.methodsOf(path);
  }

  /** The binding whose only path this is, in lower case. */
  at(path: string): BoundTarget | undefined {
    return this.#literal.get(path);
  }

  /** Adds a binding. @returns which other one of the same method and shape there is, in words */
  #add(entry: BoundTarget): string | undefined {
    const entries = this.#trie.add(entry);
    const path = literalPathOf(entry);
    if (path !== undefined) this.#literal.set(path, entry);
    if (entries.length === 1) return undefined;
    const { httpMethod, template } = entry;
    const [first] = entries as [BoundTarget];
    const shape = `${httpMethod} ${shapeOf(template)}`;
    const other = entries.find((each) => each !== entry) as BoundTarget;
    return `${shape} is a binding of ${other.target.endpoint.name} too; it calls ${first.target.endpoint.name}`;
  }
}

/** The bindings of an endpoint. Without the annotation its types are not parsed. */
export function bindingsFor({ endpoint }: Pick<Target, "endpoint">, prefix: string): MethodBindings {
  return endpoint.annotated ? bindingsOf(endpoint.method, prefix) : NONE;
}

const NONE: MethodBindings = { bindings: [], problems: [] };

/** Why a binding is not called at some of its paths. */
function partlyHidden({ httpMethod, template }: BoundTarget): string | undefined {
  return builtInOverlapOf(template, httpMethod)?.text;
}

/** Why a binding is never called. */
function problemOf(entry: BoundTarget, isRoute: (path: string) => boolean): string | undefined {
  const { httpMethod, template } = entry;
  const shown = `${httpMethod} ${template.text}`;
  const own = builtInOverlapOf(template, httpMethod);
  if (own?.isWhole) return own.text;
  const path = literalPathOf(entry);
  if (path === undefined || !isRoute(path)) return undefined;
  return `${shown} is never called: ${path} is the path of an endpoint by its name`;
}

function literalPathOf({ template: { segments, verb } }: TemplateEntry): string | undefined {
  if (verb !== "" || segments.some((segment) => typeof segment !== "string")) return undefined;
  return `/${segments.join("/")}`.toLowerCase();
}
