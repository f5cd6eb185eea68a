/** What an endpoint itself declares of its callers (portico/options/v1/options.proto). */
import type { Decision, Guarded } from "../../call/admission.js";
import type { Caller } from "../../call/caller.js";
import { administers } from "../../contract/admin-parts.js";
import { administeredBy } from "../../contract/admin-resources.js";
import { Callers } from "../../contract/endpoint.js";

/**
 * A token counts only in the namespace that issued it. An enrolment counts only at endpoints for
 * enrolled callers.
 */
export function countsAt(endpoint: Guarded, namespace: string, caller: Caller | undefined): boolean {
  if (caller?.enrolment !== undefined) return endpoint.callers === Callers.ENROLLED;
  return caller?.namespace === namespace;
}

/** Decides at an endpoint that declares which callers may call it. */
export function decideByDeclaration(endpoint: Guarded, caller: Caller | undefined): Decision {
  const { callers, adminPart, someResources } = endpoint;
  if (caller === undefined) return "unauthorized";
  const enough =
    callers === Callers.ACCOUNT ||
    (callers === Callers.ADMIN && administers(caller, adminPart)) ||
    (callers === Callers.ADMIN && someResources === true && administeredBy(caller).length > 0) ||
    (callers === Callers.ENROLLED && caller.enrolment !== undefined);
  return enough ? "granted" : "forbidden";
}
