/** A warning for a pattern that matches no endpoint now: it may be mistyped. */
import { matches, parsePattern, type Resource } from "../../src/contract/resource.js";
import { didYouMean, services } from "../command/candidates.js";
import type { CommandConnection } from "../command/connection.js";
import { paintFor, visible } from "../terminal/text.js";

/** Warns on stderr of each pattern that nothing matches. It may be meant for later, so it is no error. */
export async function warnUnserved({ io, client }: CommandConnection, patterns: readonly string[]): Promise<void> {
  // A caller who may not list the services is not warned.
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

/** Names the first segment that nothing matches. */
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
