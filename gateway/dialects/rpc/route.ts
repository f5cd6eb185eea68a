/** How gRPC, gRPC-Web and Connect name an endpoint: `/<package>.<Service>/<Method>`, exactly. */
import { Code, StatusError } from "../../../src/errors.js";
import type { Routes } from "../../catalog/routes.js";
import type { Route } from "../../catalog/target.js";
import { type GatewayRequest, pathOf } from "../../http.js";

/**
 * The route of the gRPC path: of the service that the header Portico-Service names, else of the one that the gRPC name belongs
 * to; of a name that belongs to nobody, where one service alone has it, of that one.
 * @throws {StatusError} NOT_FOUND where only other services have it, or several have a name that is nobody's; UNAVAILABLE where
 *   the service that is meant has no instance
 */
export function findRoute({ target, headers }: GatewayRequest, routes: Routes): Route | undefined {
  const path = pathOf(target);
  const found = routes.rpc.find(path);
  if (found?.first !== undefined && headers.service === undefined) return found.first;
  return (found === undefined ? routes.findOwn(path) : undefined) ?? findOther(path, headers.service, routes);
}

/** As `findRoute`, for a path that does not lead to the owner of its name. */
function findOther(path: string, asked: string | undefined, routes: Routes): Route | undefined {
  const { routes: found = [] } = routes.rpc.find(path) ?? {};
  const grpcService = path.slice(1, path.lastIndexOf("/"));
  const owner = routes.rpc.ownerOf(grpcService);
  const chosen = asked === undefined ? undefined : found.find((route) => route.target.endpoint.service === asked);
  if (chosen !== undefined) return chosen;
  if (owner !== undefined && (asked ?? owner) === owner && routes.targetsOf(owner) === undefined) {
    throw new StatusError(Code.UNAVAILABLE, `${grpcService} is served by ${owner}, which has no instance now`);
  }
  if (asked !== undefined || found.length === 0) return undefined;
  const services = found.map((route) => route.target.endpoint.service).join(" and ");
  const why = owner === undefined ? "" : `, and not by ${owner}, to which ${grpcService} belongs`;
  const message = `${path.slice(1)} is served by ${services}${why}: name one in the header Portico-Service`;
  throw new StatusError(Code.NOT_FOUND, message);
}
