/**
 * The limits of a namespace, found by what is called and who calls. What is found for a resource is
 * remembered by the resource's object, until a limit changes (each endpoint has one such object).
 */
import { matches, parsePattern, type Resource } from "../contract/resource.js";
import { LOGGED_IN, PUBLIC } from "../contract/scope.js";
import { type Limit, Per } from "../gen/portico/auth/v1/limits.js";

/** A limit, and the revision that created or set it. */
export interface RevisedLimit {
  readonly limit: Limit;
  readonly revision: bigint;
}

interface Compiled extends RevisedLimit {
  readonly pattern: Resource;
}

/** The limits of one scope that match a resource. */
interface OfScope {
  readonly all: RevisedLimit[];
  /** Without those that apply only to calls of accounts. */
  readonly withoutAccount: RevisedLimit[];
}

const NONE: readonly RevisedLimit[] = [];

export class LimitSet {
  /** Distinguishes the namespace from earlier and later ones of the same name. */
  readonly namespaceId: string;
  readonly #byId = new Map<string, Compiled>();
  #remembered = new WeakMap<Resource, ReadonlyMap<string, OfScope>>();

  constructor(namespaceId = "") {
    this.namespaceId = namespaceId;
  }

  get size(): number {
    return this.#byId.size;
  }

  [Symbol.iterator](): Iterator<RevisedLimit> {
    return this.#byId.values();
  }

  get(id: string): RevisedLimit | undefined {
    return this.#byId.get(id);
  }

  /**
   * Adds a limit, or replaces the one with its ID.
   * @throws {SyntaxError} if its resource cannot be understood
   */
  set({ limit, revision }: RevisedLimit): void {
    this.#byId.set(limit.id, { limit, revision, pattern: parsePattern(limit.resource) });
    this.#remembered = new WeakMap();
  }

  /** @returns whether the limit existed */
  delete(id: string): boolean {
    this.#remembered = new WeakMap();
    return this.#byId.delete(id);
  }

  /**
   * The limits that count a call, each once.
   * @param resource what is called, in lower case, without wildcards
   * @param scopes of the caller; undefined for a call without a token
   * @param hasAccount whether an account calls: otherwise no limit for each account or key applies
   */
  matching(resource: Resource, scopes: readonly string[] | undefined, hasAccount: boolean): readonly RevisedLimit[] {
    if (this.#byId.size === 0) return NONE;
    const byScope = this.#remembered.get(resource) ?? this.#remember(resource);
    if (byScope.size === 0) return NONE;
    const everyone = byScope.get(PUBLIC);
    let found = listOf(everyone, hasAccount);
    if (scopes === undefined || (everyone !== undefined && byScope.size === 1)) return found;
    found = joined(found, listOf(byScope.get(LOGGED_IN), hasAccount));
    for (let index = 0; index < scopes.length; index++) {
      const scope = scopes[index]!;
      // An account may have a scope twice.
      if (scope === LOGGED_IN || scope === PUBLIC || scopes.indexOf(scope) < index) continue;
      found = joined(found, listOf(byScope.get(scope), hasAccount));
    }
    return found;
  }

  #remember(resource: Resource): ReadonlyMap<string, OfScope> {
    const byScope = new Map<string, OfScope>();
    for (const compiled of this.#byId.values()) {
      const { limit, pattern } = compiled;
      if (!matches(pattern, resource)) continue;
      const list = byScope.get(limit.scope) ?? { all: [], withoutAccount: [] };
      byScope.set(limit.scope, list);
      list.all.push(compiled);
      if (limit.per !== Per.ACCOUNT && limit.per !== Per.KEY) list.withoutAccount.push(compiled);
    }
    this.#remembered.set(resource, byScope);
    return byScope;
  }
}

function listOf(list: OfScope | undefined, hasAccount: boolean): readonly RevisedLimit[] {
  if (list === undefined) return NONE;
  return hasAccount ? list.all : list.withoutAccount;
}

function joined(some: readonly RevisedLimit[], more: readonly RevisedLimit[]): readonly RevisedLimit[] {
  if (more.length === 0) return some;
  return some.length === 0 ? more : some.concat(more);
}
