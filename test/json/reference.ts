/** How @bufbuild/protobuf, the reference, reads messages. */
import { type DescMessage, fromBinary, type Registry, toJsonString } from "@bufbuild/protobuf";

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
