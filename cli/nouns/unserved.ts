/** Warnings for a name that exists nowhere at present: it may be mistyped. */
import { didYouMean } from "../../src/contract/nearest.js";
import { matches, parsePattern, type Resource } from "../../src/contract/resource.js";
import { isAgentScope } from "../../src/contract/scope.js";
import { services } from "../command/candidates.js";
import type { CommandConnection } from "../command/connection.js";
import { paintFor, visible } from "../terminal/text.js";
import { accounts, EVERYONE } from "./account.js";

/**
 * Warns on stderr about each pattern that matches nothing. It is not an error, because the pattern
 * may be meant for a later endpoint.
 */
export async function warnUnserved(connection: CommandConnection, patterns: readonly string[]): Promise<void> {
  // There is no warning for a caller who may not list the services.
  const listed = await services.list(connection.client).catch(() => undefined);
  if (listed === undefined) return;
  const served = listed.flatMap(({ endpoints }) => endpoints.map(({ resource }) => parsePattern(resource)));
  for (const pattern of patterns) {
    const warning = warningFor(parsePattern(pattern), served);
    if (warning !== undefined) warn(connection, `${pattern} matches nothing now: ${warning}`);
  }
}

/** Warns on stderr about a scope that no account holds. An account with it may come later. */
export async function warnUnheld(connection: CommandConnection, scope: string): Promise<void> {
  if (EVERYONE.has(scope) || isAgentScope(scope)) return;
  // There is no warning for a caller who may not list the accounts.
  const listed = await accounts.list(connection.client).catch(() => undefined);
  if (listed === undefined) return;
  const held = new Set(listed.flatMap(({ scopes }) => scopes));
  if (!held.has(scope)) warn(connection, `no account has the scope ${scope} now${didYouMean(scope, held)}`);
}

function warn({ io }: CommandConnection, text: string): void {
  io.stderr.write(`${paintFor(io.stderr, io.env)("red", visible(`Warning: ${text}`))}\n`);
}

/** A text that names the first segment that matches nothing. */
function warningFor(pattern: Resource, served: readonly Resource[]): string | undefined {
  if (served.some((resource) => matches(pattern, resource))) return undefined;
  const { type, name, endpoint } = pattern;
  const known = (segment: keyof Resource, among: readonly Resource[]) => among.map((resource) => resource[segment]);
  const sameType = served.filter((resource) => matches({ type, name: "*", endpoint: "*" }, resource));
  if (sameType.length === 0) return `there is no type ${type}${didYouMean(type, known("type", served))}`;
  const sameName = sameType.filter((resource) => matches({ type, name, endpoint: "*" }, resource));
  if (sameName.length === 0) return `nobody serves ${name}${didYouMean(name, known("name", sameType))}`;
  return `${name} has no endpoint ${endpoint}${didYouMean(endpoint, known("endpoint", sameName))}`;
}
