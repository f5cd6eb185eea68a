/** A warning for a pattern that matches no endpoint there is now: a slip of the pen would else stay unseen. */
import { nearest } from "../../src/contract/nearest.js";
import { matches, parsePattern, type Resource } from "../../src/contract/resource.js";
import type { Client } from "../http/client.js";
import type { Io } from "../terminal/io.js";
import { paintFor, visible } from "../terminal/text.js";
import { listServices } from "./services.js";

/** Warns on stderr of each pattern that nothing matches. It may be meant for later, so it is no error. */
export async function warnUnserved(io: Io, client: Client, patterns: readonly string[]): Promise<void> {
  // Whoever may not list services is not warned.
  const services = await listServices(client).catch(() => undefined);
  if (services === undefined) return;
  const served = services.flatMap(({ endpoints }) => endpoints.map(({ resource }) => parsePattern(resource)));
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
  const sameType = served.filter((resource) => matches({ type, name: "*", endpoint: "*" }, resource));
  if (sameType.length === 0)
    return `there is no type ${type}${meant(
      type,
      served.map((resource) => resource.type),
    )}`;
  const sameName = sameType.filter((resource) => matches({ type, name, endpoint: "*" }, resource));
  if (sameName.length === 0) {
    return `nobody serves ${name}${meant(
      name,
      sameType.map((resource) => resource.name),
    )}`;
  }
  return `${name} has no endpoint ${endpoint}${meant(
    endpoint,
    sameName.map((resource) => resource.endpoint),
  )}`;
}

function meant(segment: string, known: readonly string[]): string {
  const near = nearest(segment, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}
