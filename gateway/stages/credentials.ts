/**
 * Stage 4, credentials: reads the token that the caller sent, and the namespace of the call.
 * Nothing is decided yet.
 */
import type { Credentials } from "../../src/call/admission.js";
import { bearerOf } from "../../src/call/token.js";
import { NAME } from "../../src/contract/names.js";
import type { Route } from "../catalog/target.js";
import { HttpError } from "../http/errors.js";
import { subprotocolToken } from "../http/handshake.js";
import type { GatewayRequestHead } from "../http/message.js";

/**
 * Ends a request with:
 * - 400 a malformed Platform-Namespace, malformed WebSocket subprotocols, or more than one token
 * @param route `versioned` for a path `/v1/…`: it needs a valid token, and only the token names the
 * namespace
 */
export function readCredentials(
  request: GatewayRequestHead,
  { versioned, forbidsKnown }: Pick<Route, "versioned" | "forbidsKnown">,
): Credentials {
  const { authorization, namespace } = request.headers;
  if (namespace !== undefined && !NAME.test(namespace)) {
    throw new HttpError(400, "Platform-Namespace must be lower-case letters, digits and -, at most 63");
  }
  let token = request.upgrade ? subprotocolToken(request) : undefined;
  // Any other authentication scheme counts as no token: it may be meant for a proxy.
  if (token === undefined && authorization !== undefined) token = bearerOf(authorization);
  const asked = versioned ? undefined : namespace;
  return { token, namespace: asked, tokenRequired: versioned, forbidsKnown, client: request };
}
