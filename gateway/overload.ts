/** Has requests wait, or refuses them, while there are more than this process can answer (src/overload.ts). */
import type { Overload } from "../src/overload.js";
import { HttpError } from "./errors.js";
import type { GatewayRequest, GatewayResponse, Handler } from "./http.js";

const OVERLOADED = new HttpError(503, "The gateway has more requests than it can answer in time; try again later", {
  headers: ["Retry-After", "1"],
});

export interface OverloadOptions {
  /** Without it every request begins at once. */
  readonly overload?: Overload | undefined;
}

/** The response to a request that is not handled. */
type Refuse = (request: GatewayRequest, reason: HttpError) => GatewayResponse;

/** A handler that calls the other one when it is the request's turn. */
export function takeTurns(overload: Overload, handler: Handler, refuse: Refuse): Handler {
  return (request) => {
    if (overload.mayBegin()) return handler(request);
    const group = groupOf(request.target);
    if (overload.tryBegin(group)) return handler(request);
    return new Promise((resolve) => {
      const waiting = overload.wait(group, {
        begin: () => resolve(handler(request)),
        refuse: () => resolve(refuse(request, OVERLOADED)),
      });
      request.onAbort((reason) => {
        waiting.cancel();
        resolve(refuse(request, reason));
      });
    });
  };
}

/**
 * Requests with the same first two segments of the path take turns as one group. These name the service in most paths:
 * `/v1/helloworld`, `/helloworld/call`, `/helloworld.Helloworld/Call`.
 */
function groupOf(target: string): string {
  const second = target.indexOf("/", 1);
  const third = second < 0 ? -1 : target.indexOf("/", second + 1);
  const path = third < 0 ? target : target.slice(0, third);
  const query = path.indexOf("?");
  return query < 0 ? path : path.slice(0, query);
}
