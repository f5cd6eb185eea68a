/**
 * Puts requests into the queue for the processor (src/overload/call-queue.ts), and responds with
 * 503 to requests that the queue refuses. docs/overload.md draws all that happens in an overload.
 */
import { RESERVED_NAMES } from "../../src/contract/names.js";
import type { CallQueue } from "../../src/overload/call-queue.js";
import { type HttpError, OVERLOADED } from "../http/errors.js";
import type { GatewayRequest, GatewayResponse, RequestHandler } from "../http/message.js";
import { pathOf } from "../http/target.js";

/** Finds the service that has a path. */
interface Routes {
  serviceAt(method: string, path: string): string | undefined;
}

/** Makes the response to a request that is not handled. */
type Refuse = (request: GatewayRequest, reason: HttpError) => GatewayResponse;

/** Returns a handler that calls `handler` when it is the turn of the request. */
export function queueRequests(
  callQueue: CallQueue,
  routes: Routes,
  handler: RequestHandler,
  refuse: Refuse,
): RequestHandler {
  return (request) => {
    if (callQueue.mayBegin()) return handler(request);
    const group = groupOf(request, routes);
    if (callQueue.tryBegin(group)) return handler(request);
    if (callQueue.mustRefuse(group)) {
      request.throttle?.();
      // A promise, so that this response is written together with other responses.
      return Promise.resolve(refuse(request, OVERLOADED));
    }
    return new Promise((resolve) => {
      const begin = (): void => resolve(handler(request));
      waitForTurn(callQueue, group, request, { begin, end: (reason) => resolve(refuse(request, reason)) });
    });
  };
}

/**
 * Waits for the turn of a request whose body arrived after the request had begun. Such a request
 * waits again, because most of its work begins only now.
 * @param service that the request calls
 * @returns undefined where the request continues at once
 * @throws {HttpError} (or rejects with it) 503 where the request has waited for too long or would
 * have to; 499 where the client has gone
 */
export function queueAfterBody(
  callQueue: CallQueue,
  service: string,
  request: GatewayRequest,
): Promise<void> | undefined {
  if (callQueue.mayBegin() || callQueue.tryBegin(service)) return undefined;
  if (callQueue.mustRefuse(service)) {
    request.throttle?.();
    throw OVERLOADED;
  }
  return new Promise((begin, reject) => waitForTurn(callQueue, service, request, { begin, end: reject }));
}

/** The two ways in which waiting ends: the request begins, or it ends without having begun. */
interface Waiting {
  begin(): void;
  end(reason: HttpError): void;
}

function waitForTurn(callQueue: CallQueue, group: string, request: GatewayRequest, { begin, end }: Waiting): void {
  const refuse = (): void => {
    request.throttle?.();
    end(OVERLOADED);
  };
  const place = callQueue.wait(group, { begin, refuse });
  // Once the request has begun, this listener does nothing. The handler may register its own,
  // later.
  request.onAbort((reason) => {
    if (place.tryCancel()) end(reason);
  });
}

/**
 * The group in which a request takes its turns. All requests to one service are one group, whatever
 * their paths. Requests to built-in routes are grouped by the first segment of the path. All other
 * requests are one group. So a client that varies its paths gets no additional turns.
 */
function groupOf({ method, target }: GatewayRequest, routes: Routes): string {
  const path = pathOf(target);
  const service = routes.serviceAt(method, path);
  if (service !== undefined) return service;
  const end = path.indexOf("/", 1);
  const first = path.slice(1, end < 0 ? undefined : end);
  return RESERVED_NAMES.has(first) ? `/${first}` : "/";
}
