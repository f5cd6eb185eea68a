/**
 * The paths that services have by `google.api.http` annotations, and their bindings. All services
 * share one set of paths. If two bindings have the same method and shape, the gateway calls the one
 * of the service whose name sorts first. So all gateways call the same one.
 */

import { builtInOverlapOf, isBuiltInRoute } from "../../src/contract/built-in-routes.js";
import { type Binding, bindingsOf, type HttpRuleBindings as MethodBindings } from "../../src/contract/http-rule.js";
import { shapeOf } from "../../src/contract/path-template.js";
import { type PathMatch, PathTrie, type TemplateEntry } from "./path-trie.js";
import type { EndpointTarget } from "./target.js";

/** A binding of an endpoint that can be called. */
export interface BoundTarget extends TemplateEntry {
  readonly target: EndpointTarget;
  readonly binding: Binding;
}

export class BindingTable {
  readonly #trie = new PathTrie<BoundTarget>(
    (one, other) => one.target.endpoint.service < other.target.endpoint.service,
  );
  readonly #services = new Map<string, readonly BoundTarget[]>();
  /** The bindings whose template has only literals, by their path in lower case. */
  readonly #literal = new Map<string, BoundTarget>();

  get isEmpty(): boolean {
    return this.#trie.isEmpty;
  }

  /**
   * Adds the bindings of a service, or replaces all of them at once.
   * @param prefix text in front of each path, such as `/api`
   * @param isRoute whether a lower-case path is the path of an endpoint in the JSON dialect
   * @returns the problems of its bindings, for the operator
   */
  set(
    service: string,
    targets: readonly EndpointTarget[],
    prefix: string,
    isRoute: (path: string) => boolean,
  ): string[] {
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
    if (bound.length > 0) this.#services.set(service, bound);
    return problems;
  }

  delete(service: string): void {
    for (const entry of this.#services.get(service) ?? []) {
      this.#trie.delete(entry);
      const path = literalPathOf(entry);
      if (path !== undefined && this.#literal.get(path) === entry) this.#literal.delete(path);
    }
    this.#services.delete(service);
  }

  /** The binding for a method and a path as sent. Built-in routes have no binding. */
  find(httpMethod: string, path: string): PathMatch<BoundTarget> | undefined {
    return isBuiltInRoute(path) ? undefined : this.#trie.find(httpMethod, path);
  }

  /** The bindings by which an endpoint can be called. */
  of({ service, name }: EndpointTarget["endpoint"]): Binding[] {
    const all = this.#services.get(service) ?? [];
    return all.flatMap(({ target, binding }) => (target.endpoint.name === name ? [binding] : []));
  }

  /** The methods of the bindings that match a path. */
  methodsOf(path: string): ReadonlySet<string> {
    return isBuiltInRoute(path) ? new Set() : this.#trie.methodsOf(path);
  }

  /** The binding whose template has only literals and is this path, in lower case. */
  at(path: string): BoundTarget | undefined {
    return this.#literal.get(path);
  }

  /**
   * Adds a binding. @returns a text that names another binding of the same method and shape, if
   * there is one
   */
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

/** The bindings of an endpoint. Without the annotation the endpoint's types are not parsed. */
export function bindingsFor({ endpoint }: Pick<EndpointTarget, "endpoint">, prefix: string): MethodBindings {
  return endpoint.annotated ? bindingsOf(endpoint.method, prefix) : NONE;
}

const NONE: MethodBindings = { bindings: [], problems: [] };

/** Why some paths of a binding do not lead to it. */
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
