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
    const listOf = hasAccount ? all : withoutAccount;
    const everyone = listOf(byScope.get(PUBLIC));
    if (scopes === undefined || (byScope.size === 1 && byScope.has(PUBLIC))) return everyone;
    const lists = [everyone, listOf(byScope.get(LOGGED_IN))];
    // An account may have a scope twice.
    for (const [index, scope] of scopes.entries()) {
      if (scope !== LOGGED_IN && scope !== PUBLIC && scopes.indexOf(scope) === index) {
        lists.push(listOf(byScope.get(scope)));
      }
    }
    const found = lists.filter((list) => list.length > 0);
    return found.length > 1 ? found.flat() : (found[0] ?? NONE);
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

const all = (list: OfScope | undefined): readonly RevisedLimit[] => list?.all ?? NONE;
const withoutAccount = (list: OfScope | undefined): readonly RevisedLimit[] => list?.withoutAccount ?? NONE;
