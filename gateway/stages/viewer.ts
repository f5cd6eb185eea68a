/** Who asks which endpoints there are. Each caller sees only the endpoints that it may call. */
import { type Admission, type Guard, isVisible } from "../../src/call/admission.js";
import { pathOf } from "../../src/contract/endpoint.js";
import { Code, StatusError } from "../../src/errors.js";
import type { Routes } from "../catalog/routes.js";
import { checkUnambiguous } from "../http/headers.js";
import type { GatewayRequestHead } from "../http/message.js";
import { readCredentials } from "./credentials.js";

/** Maximum endpoints that an error names, and that are looked at for it. */
const MAX_NAMED = 8;
const MAX_LOOKED_AT = 1_000;

/**
 * The caller of a request that asks which endpoints there are.
 * @throws {StatusError} (rejects) when `registry:Registry.Describe` would refuse the caller
 */
export async function viewerOf(request: GatewayRequestHead, routes: Routes, guard: Guard): Promise<Admission> {
  checkUnambiguous(request.headers);
  const describe = routes.find("/registry/describe");
  if (describe === undefined) throw new StatusError(Code.UNAVAILABLE, "The catalog of services has not arrived yet");
  return guard.admit(readCredentials(request, { versioned: false }), describe.target.endpoint);
}

/**
 * The paths of a service for an error, `/orders/Get, /orders/List`. Empty for a caller that may
 * not list them, or may call none.
 */
export async function pathsInWords(
  service: string,
  request: GatewayRequestHead,
  routes: Routes,
  guard: Guard,
): Promise<string> {
  try {
    const viewer = await viewerOf(request, routes, guard);
    const targets = routes.targetsOf(service)?.slice(0, MAX_LOOKED_AT) ?? [];
    const paths = targets.flatMap(({ endpoint }) => (isVisible(guard, viewer, endpoint) ? [pathOf(endpoint)] : []));
    const more = paths.length - MAX_NAMED;
    return paths.slice(0, MAX_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
  } catch {
    return "";
  }
}
