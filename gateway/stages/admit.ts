/**
 * Stage 5, admit: the guard decides whether the caller may call the endpoint; the body is received here.
 *
 * Where a body is still on its way the guard decides twice. Before it is received: who may not call must not make the gateway hold
 * a body. After its last byte: a rule deleted meanwhile does not admit the call. Only the body of an admitted call is parsed.
 */
import type { Admission, Credentials } from "../../src/call/admission.js";
import type { Target } from "../catalog/target.js";
import { announcesBody } from "../http/headers.js";
import type { GatewayRequest } from "../http/message.js";
import type { Dialect } from "./dialect.js";
import type { StageOptions } from "./options.js";
import type { RequestState } from "./record.js";
import { queueAfterBody } from "./request-queue.js";

export interface Admitted {
  readonly admission: Admission;
  /** The body, in the pieces in which it arrived; empty where the call itself reads it. */
  readonly body: readonly Uint8Array[];
}

const NO_BODY: readonly Uint8Array[] = [];

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
export function admit(
  request: GatewayRequest,
  target: Target,
  credentials: Credentials,
  { dialect }: RequestState,
  options: StageOptions,
): Admitted | Promise<Admitted> {
  const { guard, config } = options;
  const { endpoint } = target;
  const maxBody = endpoint.maxRequest === undefined ? config.maxBody : Math.min(endpoint.maxRequest, config.maxBody);
  const early = guard.admit(credentials, endpoint);
  const readsBody = announcesBody(request.headers) && !dialect.takesPieces(request, target);
  if (!readsBody) return early instanceof Promise ? early.then(withoutBody) : withoutBody(early);
  const received =
    early instanceof Promise
      ? receiveLate(early, request, target, dialect, maxBody)
      : dialect.receiveBody(request, target, maxBody);
  // A body that was there already came before the decision.
  if (!(received instanceof Promise)) return { admission: early as Admission, body: received };
  return admitAgain(received, request, credentials, endpoint, options);
}

function withoutBody(admission: Admission): Admitted {
  return { admission, body: NO_BODY };
}

async function receiveLate(
  early: Promise<Admission>,
  request: GatewayRequest,
  target: Target,
  dialect: Dialect,
  maxBytes: number,
): Promise<readonly Uint8Array[]> {
  await early;
  return dialect.receiveBody(request, target, maxBytes);
}

async function admitAgain(
  received: Promise<readonly Uint8Array[]>,
  request: GatewayRequest,
  credentials: Credentials,
  endpoint: Target["endpoint"],
  { guard, callQueue }: StageOptions,
): Promise<Admitted> {
  const body = await received;
  const turn = callQueue && queueAfterBody(callQueue, endpoint.service, request);
  if (turn !== undefined) await turn;
  return { admission: await guard.admit(credentials, endpoint), body };
}
