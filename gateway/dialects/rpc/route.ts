/** How gRPC, gRPC-Web and Connect name an endpoint: exactly `/<package>.<Service>/<Method>`. */
import type { Routes } from "../../catalog/routes.js";
import type { Route } from "../../catalog/target.js";
import type { GatewayRequestHead } from "../../http/message.js";
import { pathOf } from "../../http/target.js";

/**
 * Finds the route of a gRPC path. If the header Portico-Service names a service, it is the route of
 * that service.
 * @throws {StatusError} like `Routes.findRpc`
 */
export function findRoute({ target, headers }: GatewayRequestHead, routes: Routes): Route | undefined {
  const path = pathOf(target);
  return routes.findRpc(path, headers.service) ?? routes.findOwn(path);
}
