/** Which endpoints a caller is shown, in lists, descriptions and documents. What is shown is judged again when called. */

import { Callers, type Endpoint } from "../contract/endpoint.js";
import type { Caller, Guard } from "./admission.js";

export interface Viewer {
  readonly caller: Caller | undefined;
  readonly namespace: string;
}

/**
 * Whether an endpoint is shown: those that the caller may call are, and to an administrator of the installation all.
 * Never those of enrolled callers, who know them already.
 */
export function isVisible(guard: Pick<Guard, "allows">, { caller, namespace }: Viewer, endpoint: Endpoint): boolean {
  if (endpoint.callers === Callers.ENROLLED) return false;
  return seesAll(caller) || guard.allows(caller, namespace, endpoint);
}

/** An administrator does, unless the key at hand is limited to some resources. */
function seesAll(caller: Caller | undefined): boolean {
  return caller?.namespace === "default" && caller.scopes.includes("admin") && caller.resources.length === 0;
}
