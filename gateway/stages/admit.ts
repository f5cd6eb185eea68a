/**
 * Stage 5, admit: the guard decides whether the caller may call the endpoint; the body is received here.
 *
 * Where a body is still on its way the guard decides twice. Before it is received: who may not call must not make the gateway hold
 * a body. After its last byte: a rule deleted meanwhile does not admit the call. Only the body of an admitted call is parsed.
 */
import type { Admission, Credentials } from "../../src/call/admission.js";
import type { Route } from "../catalog/target.js";
import { announcesBody } from "../http/headers.js";
import type { GatewayRequest } from "../http/message.js";
import type { StageOptions } from "./options.js";
import type { RequestState } from "./record.js";
import { queueAfterBody } from "./request-queue.js";

export interface AdmitResult {
  readonly admission: Admission;
  /** The body, in the pieces in which it arrived; empty where the call itself reads it. */
  readonly body: readonly Uint8Array[];
}

const NO_BODY: readonly Uint8Array[] = [];

/**
 * As `admit`, where nothing has to be waited for: the token is known, and the body is there, plain.
 * @returns undefined where something has
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
  const admission = options.guard.admitAtOnce(credentials, target.endpoint);
  if (admission === undefined) return undefined;
  const maxBody = dialect.maxBody(maxMessageOf(route, options));
  // A body that was there already came before the decision.
  const body = readsBody ? request.arrivedBody(maxBody) : (route.body ?? NO_BODY);
  return body && { admission, body };
}

/**
 * Ends a request with:
 * - 400 a malformed body, or one that cannot be decompressed
 * - 401 no rule admits the caller, or a token is needed and there is no valid one
 * - 403 a rule denies the caller, or the token is limited to other resources
 * - 408 the body took too long to arrive
 * - 413 the body is too large, or its chunk extensions
 * - 499 the client has gone
 * - 503 the guard cannot decide, there is no memory for the body, or the gateway has too many requests when it has come
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
  const early = await guard.admit(credentials, target.endpoint);
  if (!mustReadBody(request, route, state)) return { admission: early, body: route.body ?? NO_BODY };

  const maxMessage = maxMessageOf(route, options);
  const received = await request.body(dialect.maxBody(maxMessage));
  const isEncoded = dialect.isEncoded(request);
  const body = isEncoded ? await dialect.decodeBody(request, target, received, maxMessage) : received;
  if (callQueue !== undefined) await queueAfterBody(callQueue, target.endpoint.service, request);
  return { admission: await guard.admit(credentials, target.endpoint), body };
}

function mustReadBody(request: GatewayRequest, route: Route, { dialect }: RequestState): boolean {
  return (
    announcesBody(request.headers) && route.body === undefined && !dialect.takesChunks(request, route.target, route)
  );
}

function maxMessageOf({ target: { endpoint } }: Route, { config: { maxBody } }: StageOptions): number {
  return endpoint.maxRequest === undefined ? maxBody : Math.min(endpoint.maxRequest, maxBody);
}
