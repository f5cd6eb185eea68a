/**
 * Token exchange (RFC 8693): a program sends the JWT that its platform has issued to it, and gets
 * an access token. The JWT says who it is, so it needs no client.
 */
import {
  type ExchangeJwtRequest,
  type ExchangeResponse,
  OAuthService,
} from "../../../src/gen/portico/auth/v1/oauth.js";
import type { GatewayRequest } from "../../http/message.js";
import type { OAuthAuthority } from "./authority.js";
import type { Parameters } from "./form.js";
import { originAndId } from "./request.js";

export const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";
const JWT_TYPES = ["urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token"];

/** A reason of RFC 6749 §5.2 to refuse an exchange before the authority is asked; or undefined. */
export function exchangeProblem(form: Parameters): string | undefined {
  if (form.get("subject_token") === "") return "subject_token is missing";
  if (!JWT_TYPES.includes(form.get("subject_token_type")))
    return `subject_token_type must be ${JWT_TYPES.join(" or ")}`;
  if (form.has("actor_token")) return "actor_token is not supported";
  if (!["", ACCESS_TOKEN_TYPE].includes(form.get("requested_token_type"))) {
    return `requested_token_type must be ${ACCESS_TOKEN_TYPE}`;
  }
  return undefined;
}

/** @param resource empty, `/` for the whole gateway, or `/mcp` */
export function exchangeJwt(
  authority: OAuthAuthority,
  { request, form, resource }: { request: GatewayRequest; form: Parameters; resource: string },
): Promise<ExchangeResponse> {
  const asked: ExchangeJwtRequest = {
    ...{ jwt: form.get("subject_token"), scopes: form.words("scope"), resource },
    ...originAndId(request),
  };
  return authority.call(OAuthService.exchangeJwt, asked);
}
