/**
 * How large a request of each of Portico's own endpoints may be: what it needs, and not what a service may need. Anyone can send
 * to them before it is known who he is, so a larger bound would only help to fill the memory of the process.
 */
import { Callers } from "../gen/portico/options/v1/options.js";

/** Bytes of a message or a body. For lists of resources, scopes and rules: 100 of 256 characters, and what JSON adds. */
const MAX_REQUEST = 64 * 1024;
/** By gRPC path: those that need less, and one that needs more. */
const MAX_REQUESTS: ReadonlyMap<string, number> = new Map([
  ["/portico.auth.v1.Auth/Login", 16 * 1024],
  ["/portico.auth.v1.Auth/Refresh", 16 * 1024],
  ["/portico.auth.v1.Auth/Logout", 16 * 1024],
  ["/portico.auth.v1.Auth/WhoAmI", 16 * 1024],
  // 10,000 resources, which an administrator's page lists.
  ["/portico.auth.v1.Rules/Preview", 4 * 1024 ** 2],
]);

/**
 * The most bytes of a request to an endpoint of the authority or the registry.
 * @returns undefined for endpoints that only enrolled processes call, which send contracts and batches: the port's limit holds
 */
export function maxBuiltInRequest(path: string, callers: Callers): number | undefined {
  return callers === Callers.ENROLLED ? undefined : (MAX_REQUESTS.get(path) ?? MAX_REQUEST);
}
