/**
 * Which messages contain secrets: those with a field that has the option `debug_redact`, which
 * keeps it out of logs.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { Endpoint } from "./endpoint.js";
import { SELF_GOVERNED } from "./names.js";

export function isSecret({ proto }: Pick<DescField, "proto">): boolean {
  return proto.options?.debugRedact === true;
}

/**
 * Whether an error of the endpoint may quote a secret from its request, so that the error's message
 * must not be logged. Errors of the authority and the registry are logged: they quote no secrets,
 * and operators need them.
 */
export function mayQuoteSecrets({ service, method }: Pick<Endpoint, "service" | "method">): boolean {
  return !SELF_GOVERNED.has(service) && holdsSecrets(method.input);
}

/** By type, because descriptors never change. */
const known = new WeakMap<DescMessage, boolean>();

/** Whether a message of the type, or of a type within it, has a secret field. */
export function holdsSecrets(type: DescMessage): boolean {
  let holds = known.get(type);
  if (holds === undefined) {
    holds = searchForSecret(type);
    known.set(type, holds);
  }
  return holds;
}

function searchForSecret(type: DescMessage): boolean {
  const seen = new Set([type]);
  for (const { fields } of seen) {
    for (const field of fields) {
      if (isSecret(field)) return true;
      if (field.message !== undefined) seen.add(field.message);
    }
  }
  return false;
}
