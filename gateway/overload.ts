/** Has requests wait, or refuses them, while there are more than this process can answer (src/overload.ts). */
import { RESERVED_NAMES } from "../src/contract/names.js";
import type { Overload } from "../src/overload.js";
import { HttpError } from "./errors.js";
import { type GatewayRequest, type GatewayResponse, type Handler, pathOf } from "./http.js";

const OVERLOADED = new HttpError(503, "The gateway has more requests than it can answer in time; try again later", {
  headers: ["Retry-After", "1"],
});

export interface OverloadOptions {
  /** Without it every request begins at once. */
  readonly overload?: Overload | undefined;
}

/** Finds the service that has a path. */
interface Routes {
  serviceAt(method: string, path: string): string | undefined;
}

/** The response to a request that is not handled. */
type Refuse = (request: GatewayRequest, reason: HttpError) => GatewayResponse;

/** A handler that calls the other one when it is the request's turn. */
export function takeTurns(overload: Overload, routes: Routes, handler: Handler, refuse: Refuse): Handler {
  return (request) => {
    if (overload.mayBegin()) return handler(request);
    const group = groupOf(request, routes);
    if (overload.tryBegin(group)) return handler(request);
    if (overload.mustRefuse(group)) {
      request.holdBack?.();
      // As a promise it is written together with others.
      return Promise.resolve(refuse(request, OVERLOADED));
    }
    return new Promise((resolve) => {
      const place = overload.wait(group, {
        begin: () => resolve(handler(request)),
        refuse() {
          request.holdBack?.();
          resolve(refuse(request, OVERLOADED));
        },
      });
      // From then on the listener is the handler's, which may register it later.
      request.onAbort((reason) => {
        if (place.tryCancel()) resolve(refuse(request, reason));
      });
    });
  };
}

/**
 * Requests to one service take turns as one group, whatever the path. Those for Portico's own paths do so by the first segment, and
 * all others together, so that a client which varies its paths gets no more turns.
 */
function groupOf({ method, target }: GatewayRequest, routes: Routes): string {
  const path = pathOf(target);
  const service = routes.serviceAt(method, path);
  if (service !== undefined) return service;
  const end = path.indexOf("/", 1);
  const first = path.slice(1, end < 0 ? undefined : end);
  return RESERVED_NAMES.has(first) ? `/${first}` : "/";
}
