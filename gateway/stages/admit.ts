/**
 * Stage 5, admit: the guard decides whether the caller may call the endpoint; the body is received here.
 *
 * Where there is a body the guard decides twice. Before the first byte: who may not call must not make the gateway hold a body.
 * After the last: a rule deleted meanwhile does not admit the call. Only the body of an admitted call is parsed.
 */
import type { Admission, Credentials } from "../../src/access/admission.js";
import type { Target } from "../catalog/target.js";
import { announcesBody, type GatewayRequest } from "../http.js";
import type { StageOptions } from "./options.js";
import type { RequestState } from "./record.js";

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
 * - 503 the guard cannot decide, or there is no memory for the body
 */
export async function admit(
  request: GatewayRequest,
  target: Target,
  credentials: Credentials,
  { dialect }: RequestState,
  { guard, config }: StageOptions,
): Promise<Admitted> {
  const { endpoint } = target;
  let body = NO_BODY;
  if (announcesBody(request.headers)) {
    const early = guard.admit(credentials, endpoint);
    if (early instanceof Promise) await early;
    if (!dialect.takesPieces(request, target)) {
      const received = dialect.receiveBody(request, target, config.maxBody);
      body = received instanceof Promise ? await received : received;
    }
  }
  const admitted = guard.admit(credentials, endpoint);
  const admission = admitted instanceof Promise ? await admitted : admitted;
  return { admission, body };
}
