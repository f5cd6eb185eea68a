/**
 * Checks resource patterns while they are typed, with the code that the authority and the gateways
 * run.
 */
import { matches, parsePattern } from "../../../src/contract/resource.js";

/** Why a pattern is invalid; undefined if it is valid. */
export function problemOf(pattern: string): string | undefined {
  try {
    parsePattern(pattern);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    return message.charAt(0).toUpperCase() + message.slice(1);
  }
}

/** The resources that a pattern covers; none for an invalid pattern. */
export function coveredBy(pattern: string, resources: readonly string[]): string[] {
  if (problemOf(pattern) !== undefined) return [];
  const parsed = parsePattern(pattern);
  return resources.filter((resource) => matches(parsed, parsePattern(resource)));
}
