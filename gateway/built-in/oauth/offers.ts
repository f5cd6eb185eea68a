/** What a person can tick on the consent page, with the number of endpoints in words. */
import type { Guard } from "../../../src/call/admission.js";
import type { Caller } from "../../../src/call/caller.js";
import { isAdminScope } from "../../../src/contract/admin-parts.js";
import { SELF_GOVERNED } from "../../../src/contract/names.js";
import { matches, parsePattern, type Resource } from "../../../src/contract/resource.js";
import { agentScopeOf } from "../../../src/contract/scope.js";
import type { SignInResponse } from "../../../src/gen/portico/auth/v1/oauth.js";
import type { Routes } from "../../catalog/routes.js";

/** One box. */
export interface Offer {
  /** The OAuth scope: a resource pattern. */
  readonly scope: string;
  readonly words: string;
  /** Such as `3 endpoints`. */
  readonly count: string;
}

export interface Offers {
  readonly offers: readonly Offer[];
  /** How many endpoints of services the account may call, as Connected apps counts them. */
  readonly total: number;
  /** How many of them match one of the offers. */
  readonly offered: number;
  /** How many of Portico's own endpoints match one of the offers. */
  readonly own: number;
}

/** Everything that the account may call. */
export const EVERYTHING = "*:*:*";
/** Maximum number of services that get a box each. */
const MAX_BOXES = 100;

/**
 * The boxes for a request: one for each scope that it names. Where it names none: one for each
 * service that has something the account may call, without Portico's own.
 */
export function offersFor(
  { namespace, account, scopes: held, request }: SignInResponse,
  { routes, guard }: { routes: Routes; guard: Pick<Guard, "allows"> },
): Offers {
  const scopes = request === undefined ? held : [...held, agentScopeOf(request.clientId)];
  const caller: Caller = { namespace, account, scopes, resources: [], expires: Number.POSITIVE_INFINITY };
  const byMcp = request?.resource === "/mcp";
  const callable: Resource[] = [];
  for (const service of [...routes.services].sort()) {
    if (byMcp && SELF_GOVERNED.has(service)) continue;
    for (const { endpoint } of routes.targetsOf(service) ?? []) {
      if (guard.allows(caller, namespace, endpoint, byMcp)) callable.push(endpoint.segments);
    }
  }
  const asked = request?.scopes ?? [];
  const patterns = (asked.length > 0 ? asked : ofServices(callable)).map((scope) => ({
    scope,
    pattern: parsePattern(scope),
  }));
  const countOf = (pattern: Resource) => callable.filter((endpoint) => matches(pattern, endpoint)).length;
  const offers = patterns.map(({ scope, pattern }) => {
    const count = countOf(pattern);
    return {
      scope,
      words: inWords(pattern, caller.scopes.some(isAdminScope)),
      count: count === 1 ? "1 endpoint" : `${count} endpoints`,
    };
  });
  const isOffered = (endpoint: Resource) => patterns.some(({ pattern }) => matches(pattern, endpoint));
  const governed = callable.filter(({ name }) => !SELF_GOVERNED.has(name));
  const offered = governed.filter(isOffered).length;
  return { offers, total: governed.length, offered, own: callable.filter(isOffered).length - offered };
}

function ofServices(callable: readonly Resource[]): string[] {
  const names = new Set(callable.map(({ name }) => name).filter((name) => !SELF_GOVERNED.has(name)));
  const scopes = [...names].map((name) => `service:${name}:*`);
  return scopes.length === 0 || scopes.length > MAX_BOXES ? ["service:*:*"] : scopes;
}

function inWords({ type, name, endpoint }: Resource, admin: boolean): string {
  const isEverything = name === "*" && endpoint === "*";
  if (isEverything) return admin ? "Everything: administration and API keys too" : "Everything: API keys too";
  if (type !== "service" && type !== "*") return `${type}:${name}:${endpoint}`;
  if (endpoint === "*") return name.endsWith("*") ? `Services ${name}` : name;
  return `${name}: ${endpoint}`;
}
