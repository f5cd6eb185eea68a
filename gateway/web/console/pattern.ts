/** Checks resource patterns while they are typed, by the same code that the authority and the gateways run. */
import { matches, parsePattern } from "../../../src/contract/resource.js";

/** What is wrong with a pattern, if anything. */
export function problemOf(pattern: string): string | undefined {
  try {
    parsePattern(pattern);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    return message.charAt(0).toUpperCase() + message.slice(1);
  }
}

/** The resources that a pattern covers; none for text that is not a pattern. */
export function coveredBy(pattern: string, resources: readonly string[]): string[] {
  if (problemOf(pattern) !== undefined) return [];
  const parsed = parsePattern(pattern);
  return resources.filter((resource) => matches(parsed, parsePattern(resource)));
}
