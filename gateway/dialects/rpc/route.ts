/** How gRPC, gRPC-Web and Connect name an endpoint: `/<package>.<Service>/<Method>`, exactly. */
import { Code, StatusError } from "../../../src/errors.js";
import type { Route, Routes } from "../../catalog/routes.js";
import { type GatewayRequest, pathOf } from "../../http.js";

/**
 * The route of the gRPC path; where several services have it, of the one that the header Portico-Service names.
 * @throws {StatusError} NOT_FOUND where several services have it, and the header does not say which
 */
export function findRoute({ target, headers }: GatewayRequest, routes: Routes): Route | undefined {
  const path = pathOf(target);
  const found = routes.findRpc(path);
  if (found.length === 1 && headers.service === undefined) return found[0];
  if (found.length === 0) return routes.findOwn(path);
  const services = found.map((route) => route.target.endpoint.service);
  if (found.length > 0 && headers.service === undefined) {
    const message = `${path.slice(1)} is served by ${services.join(" and ")}: name one in the header Portico-Service`;
    throw new StatusError(Code.NOT_FOUND, message);
  }
  return found[services.indexOf(headers.service ?? "")];
}
