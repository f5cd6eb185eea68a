/** How gRPC, gRPC-Web and Connect name an endpoint: `/<package>.<Service>/<Method>`, exactly. */
import type { Routes } from "../../catalog/routes.js";
import type { Route } from "../../catalog/target.js";
import type { GatewayRequestHead } from "../../http/message.js";
import { pathOf } from "../../http/target.js";

/**
 * The route of the gRPC path; where the header Portico-Service names a service, of that one.
 * @throws {StatusError} as `Routes.findRpc`
 */
export function findRoute({ target, headers }: GatewayRequestHead, routes: Routes): Route | undefined {
  const path = pathOf(target);
  return routes.findRpc(path, headers.service) ?? routes.findOwn(path);
}
