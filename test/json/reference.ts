/** How @bufbuild/protobuf, the reference, reads messages. */
import { type DescMessage, fromBinary, type Registry, toJsonString } from "@bufbuild/protobuf";

/**
 * Titles of the messages that the reference writes otherwise. It has no -0 and no short floats, and
 * it reads fields with a wrong wire type. In lists and maps it includes values that a closed enum
 * does not have (https://protobuf.dev/programming-guides/enum/ says what is right).
 */
export const OTHERWISE: ReadonlySet<string> = new Set([
  "not finite",
  "numbers as JavaScript has them",
  "small numbers",
  "so is one with a wire type that is not its own",
  "what a closed enum does not have is not there",
]);

/** The JSON of a message with sorted keys. It is equal for messages with the same meaning. */
export function meaningOf(type: DescMessage, wire: Uint8Array, registry?: Registry): string {
  return inOrder(JSON.parse(toJsonString(type, fromBinary(type, wire), registry && { registry })));
}

function inOrder(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOrder).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${inOrder(member)}`).join()}}`;
}
