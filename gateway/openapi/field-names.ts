/** The names of all fields of an endpoint, nested messages included, for the search of the pages. */
import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { hasOwnForm } from "../../src/json/types.js";

/** Most names of an endpoint that are searched. */
const MAX_NAMES = 500;

/** By method: the descriptors of a method never change. */
const known = new WeakMap<DescMethod, readonly string[]>();

/** The distinct names in lowerCamelCase, as in JSON. */
export function fieldNames(method: DescMethod): readonly string[] {
  const before = known.get(method);
  if (before !== undefined) return before;
  const names = namesIn([method.input, method.output]);
  known.set(method, names);
  return names;
}

function namesIn(messages: readonly DescMessage[]): string[] {
  const names = new Set<string>();
  const open = [...messages];
  const seen = new Set<DescMessage>();
  for (let type = open.pop(); type !== undefined && names.size < MAX_NAMES; type = open.pop()) {
    if (seen.has(type) || hasOwnForm(type)) continue;
    seen.add(type);
    for (const { jsonName, message } of type.fields) {
      names.add(jsonName);
      if (message !== undefined) open.push(message);
    }
  }
  return [...names].slice(0, MAX_NAMES);
}
