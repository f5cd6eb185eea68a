/** A warning for a pattern that matches no endpoint at present: it may be mistyped. */
import { matches, parsePattern, type Resource } from "../../src/contract/resource.js";
import { didYouMean, services } from "../command/candidates.js";
import type { CommandConnection } from "../command/connection.js";
import { paintFor, visible } from "../terminal/text.js";

/**
 * Warns on stderr about each pattern that matches nothing. It is not an error, because the pattern
 * may be meant for a later endpoint.
 */
export async function warnUnserved({ io, client }: CommandConnection, patterns: readonly string[]): Promise<void> {
  // There is no warning for a caller who may not list the services.
  const listed = await services.list(client).catch(() => undefined);
  if (listed === undefined) return;
  const served = listed.flatMap(({ endpoints }) => endpoints.map(({ resource }) => parsePattern(resource)));
  for (const pattern of patterns) {
    const warning = warningFor(parsePattern(pattern), served);
    if (warning === undefined) continue;
    const text = `Warning: ${pattern} matches nothing now: ${warning}`;
    io.stderr.write(`${paintFor(io.stderr, io.env)("red", visible(text))}\n`);
  }
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
