/**
 * Stage 5, admit: the guard decides whether the caller may call the endpoint. The body is received
 * here.
 *
 * Where the body has not arrived yet, the guard decides twice. It decides before the body is
 * received, so that a caller without permission cannot make the gateway store a body. It decides
 * again after the last byte, so that a rule deleted meanwhile does not admit the call. The body is
 * parsed only after the call is admitted.
 *
 * Limits of calls count each request once: after the first decision, before the body is received.
 */
import type { Admission, Credentials } from "../../src/call/admission.js";
import type { Route } from "../catalog/target.js";
import { announcesBody } from "../http/headers.js";
import type { GatewayRequest } from "../http/message.js";
import type { Dialect } from "./dialect.js";
import type { StageOptions } from "./options.js";
import type { RequestState } from "./record.js";
import { queueAfterBody } from "./request-queue.js";

export interface AdmitResult {
  readonly admission: Admission;
  /** The body, in the chunks in which it arrived. Empty where the stage `call` reads the body. */
  readonly body: readonly Uint8Array[];
}

const NO_BODY: readonly Uint8Array[] = [];

/**
 * Does the same as `admit`, where the guard knows the token, and the body has arrived and is not
 * encoded.
 * @returns undefined where `admit` would have to wait
 */
export function admitAtOnce(
  request: GatewayRequest,
  route: Route,
  credentials: Credentials,
  state: RequestState,
  options: StageOptions,
): AdmitResult | undefined {
  const { target } = route;
  const { dialect } = state;
  const readsBody = mustReadBody(request, route, state);
  if (readsBody && dialect.isEncoded(request)) return undefined;
  const { guard } = options;
  const admission = (state.trace?.deciding(guard) ?? guard).admitAtOnce(credentials, target.endpoint);
  if (admission === undefined || state.count(admission, guard) !== undefined) return undefined;
  const maxBody = dialect.maxBody(maxMessageOf(route, dialect, options));
  // The last byte of the body arrived before this decision, so no second decision is needed.
  const body = readsBody ? request.arrivedBody(maxBody) : (route.body ?? NO_BODY);
  return body && { admission, body };
}

/**
 * Ends a request with:
 * - 400 the body is malformed, or cannot be decompressed
 * - 401 no rule admits the caller, or the call needs a valid token and has none
 * - 403 a rule denies the caller, or the token is limited to other resources
 * - 408 the body took too long to arrive
 * - 413 the body or its chunk extensions are too large
 * - 429 a limit of calls is used up
 * - 499 the client has closed the connection or cancelled the request
 * - 503 the guard cannot decide, there is no memory for the body, or the gateway is overloaded when
 *   the body has arrived
 */
export async function admit(
  request: GatewayRequest,
  route: Route,
  credentials: Credentials,
  state: RequestState,
  options: StageOptions,
): Promise<AdmitResult> {
  const { target } = route;
  const { dialect } = state;
  const { guard, callQueue } = options;
  const decider = state.trace?.deciding(guard) ?? guard;
  // The count that `admitAtOnce` began, where it has to wait.
  if (state.counting !== undefined) await state.counting;
  let admission = await decider.admit(credentials, target.endpoint);
  const counting = state.count(admission, guard);
  if (counting !== undefined) {
    await counting;
    // A change of the rules may have been acknowledged meanwhile.
    admission = await decider.admit(credentials, target.endpoint);
  }
  if (!mustReadBody(request, route, state)) return { admission, body: route.body ?? NO_BODY };

  const maxMessage = maxMessageOf(route, dialect, options);
  const received = await request.body(dialect.maxBody(maxMessage));
  const isEncoded = dialect.isEncoded(request);
  const body = isEncoded ? await dialect.decodeBody(request, target, received, maxMessage) : received;
  if (callQueue !== undefined) await queueAfterBody(callQueue, target.endpoint.service, request);
  return { admission: await decider.admit(credentials, target.endpoint), body };
}

function mustReadBody(request: GatewayRequest, route: Route, { dialect }: RequestState): boolean {
  return (
    announcesBody(request.headers) && route.body === undefined && !dialect.takesChunks(request, route.target, route)
  );
}

function maxMessageOf({ target }: Route, { isBinary }: Dialect, { config: { maxBody } }: StageOptions): number {
  const { maxRequest } = target.endpoint;
  const limit = target.maxMessage(isBinary === true, maxBody);
  return maxRequest === undefined ? limit : Math.min(maxRequest, limit);
}
