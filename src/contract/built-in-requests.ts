/**
 * The maximum size of a request to each of Portico's own endpoints: what the endpoint needs. It is
 * smaller than the limit for other services. These endpoints accept requests before the caller is
 * known, so a larger maximum would only help to fill the memory of the process.
 */
import { Callers } from "../gen/portico/options/v1/options.js";

/**
 * Bytes of a message or a body. Enough for lists of 100 resources, scopes or rules with 256
 * characters each, in JSON.
 */
const MAX_REQUEST = 64 * 1024;
/** Other limits, by gRPC path: lower for logins, higher for administrators. */
const MAX_REQUESTS: ReadonlyMap<string, number> = new Map([
  ["/portico.auth.v1.Auth/Login", 16 * 1024],
  ["/portico.auth.v1.Auth/Refresh", 16 * 1024],
  ["/portico.auth.v1.Auth/Logout", 16 * 1024],
  ["/portico.auth.v1.Auth/WhoAmI", 16 * 1024],
  // 10,000 resources, which a page for administrators sends.
  ["/portico.auth.v1.Rules/Preview", 4 * 1024 ** 2],
  // What `portico apply` reads from a file. PORTICO_MAX_BODY may be lower.
  ["/portico.auth.v1.Configurations/Plan", 16 * 1024 ** 2],
  ["/portico.auth.v1.Configurations/Apply", 16 * 1024 ** 2],
  // Descriptors of 1 MiB in base64, and HTTP rules of 256 KiB in JSON.
  ["/portico.registry.v1.Services/Put", 2 * 1024 ** 2],
]);

/**
 * The maximum bytes of a request to an endpoint of the authority or the registry.
 * @returns undefined for endpoints that only enrolled processes call: they receive contracts and
 * batches, so only the port's limit applies
 */
export function maxBuiltInRequest(path: string, callers: Callers): number | undefined {
  return callers === Callers.ENROLLED ? undefined : (MAX_REQUESTS.get(path) ?? MAX_REQUEST);
}
