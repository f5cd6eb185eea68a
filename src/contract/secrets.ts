/** Which messages hold secrets: those with a field that the contract keeps out of logs by the option `debug_redact`. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";

export function isSecret({ proto }: Pick<DescField, "proto">): boolean {
  return proto.options?.debugRedact === true;
}

/** By type: descriptors never change. */
const known = new WeakMap<DescMessage, boolean>();

/** Whether a message of the type, or one in it, has a field that is secret. */
export function holdsSecrets(type: DescMessage): boolean {
  let holds = known.get(type);
  if (holds === undefined) {
    holds = searched(type);
    known.set(type, holds);
  }
  return holds;
}

function searched(type: DescMessage): boolean {
  const seen = new Set([type]);
  for (const { fields } of seen) {
    for (const field of fields) {
      if (isSecret(field)) return true;
      if (field.message !== undefined) seen.add(field.message);
    }
  }
  return false;
}
