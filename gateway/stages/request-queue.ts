/**
 * Puts requests into the queue for the processor (src/overload/call-queue.ts), and answers 503 to those that it refuses. The whole
 * of what happens in an overload is drawn in docs/overload.md.
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

/** The response to a request that is not handled. */
type Refuse = (request: GatewayRequest, reason: HttpError) => GatewayResponse;

/** A handler that calls another one when it is the turn of the request. */
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
      // As a promise it is written together with others.
      return Promise.resolve(refuse(request, OVERLOADED));
    }
    return new Promise((resolve) => {
      const begin = (): void => resolve(handler(request));
      waitForTurn(callQueue, group, request, { begin, end: (reason) => resolve(refuse(request, reason)) });
    });
  };
}

/**
 * Waits for the turn of a request whose body came after it had begun: only now it takes most of what it takes of the processor.
 * @param service that it calls
 * @returns undefined where it goes on at once
 * @throws {HttpError} (or rejects with one) 503 where it has waited for too long, or would have to; 499 where the client has gone
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

/** What becomes of a request that waits: it begins, or ends without having begun. */
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
  // Once the request has begun the listener is the handler's, which may register it later.
  request.onAbort((reason) => {
    if (place.tryCancel()) end(reason);
  });
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
