/** What a client asks for in an authorization request (RFC 6749 §4.1.1, RFC 7636, RFC 8707). */
import { isChallenge } from "../../../src/call/pkce.js";
import { areScopes, MCP_RESOURCE } from "../../../src/contract/oauth-scopes.js";
import type { AuthorizationRequest } from "../../../src/gen/portico/auth/v1/oauth.js";
import type { GatewayRequestHead } from "../../http/message.js";
import type { Parameters } from "./form.js";

/** An error for the client, at its redirect URI (RFC 6749 §4.1.2.1). */
export interface RedirectError {
  readonly error: string;
  readonly description: string;
}

/** Maximum characters of `state`, which comes back unchanged. */
const MAX_STATE = 2_000;

/**
 * The resource of a request: "" where it names none, `/` for the whole gateway, `/mcp`; undefined
 * where it is neither.
 */
export function resourceOf(form: Parameters, origin: string): string | undefined {
  const named = [...new Set(form.all("resource"))].map((text) => {
    if (text === origin || text === `${origin}/`) return "/";
    return text === `${origin}/mcp` || text === `${origin}/mcp/` ? "/mcp" : undefined;
  });
  if (named.includes(undefined)) return undefined;
  return named.length === 0 ? "" : named.includes("/") ? "/" : "/mcp";
}

/**
 * The request, or why it is refused.
 * @param origin of this gateway
 */
export function readRequest(query: Parameters, origin: string): AuthorizationRequest | RedirectError {
  const refuse = (error: string, description: string): RedirectError => ({ error, description });
  const twice = query.repeated("resource");
  if (twice !== undefined) return refuse("invalid_request", `${twice} is there several times`);
  if (query.has("request")) return refuse("request_not_supported", "request is not supported");
  if (query.has("request_uri")) return refuse("request_uri_not_supported", "request_uri is not supported");
  if (query.get("response_type") !== "code") return refuse("unsupported_response_type", "response_type must be code");
  if (!["", "query"].includes(query.get("response_mode"))) {
    return refuse("invalid_request", "response_mode must be query");
  }
  const challenge = query.get("code_challenge");
  if (query.get("code_challenge_method") !== "S256" || !isChallenge(challenge)) {
    return refuse("invalid_request", "code_challenge with code_challenge_method=S256 is required (RFC 7636)");
  }
  if (query.get("prompt").split(" ").includes("none")) return refuse("login_required", "a person must sign in");
  const scopes = query.words("scope");
  const resource = resourceOf(query, origin);
  if (resource === undefined) return refuse("invalid_target", "resource is not this gateway, nor its /mcp");
  if (!areScopes(scopes, resource)) {
    const what = resource === MCP_RESOURCE ? "endpoints of services" : "resource patterns";
    return refuse("invalid_scope", `scope must be ${what}, such as service:orders:*`);
  }
  const state = query.get("state");
  if (state.length > MAX_STATE) return refuse("invalid_request", `state is longer than ${MAX_STATE} characters`);
  return {
    clientId: query.get("client_id"),
    redirectUri: query.get("redirect_uri"),
    ...{ challenge, scopes, state, resource: resource === "/mcp" ? resource : "" },
  };
}

/** The redirect URI with the parameters of a response, and `iss` (RFC 9207). */
export function redirectTo(
  { redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">,
  origin: string,
  response: Readonly<Record<string, string>>,
): string {
  const parameters = new URLSearchParams({ ...response, ...(state !== "" && { state }), iss: origin });
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${parameters}`;
}

/** Where a request comes from, for the throttle and the audit trail. */
export function originAndId({ remoteAddress, headers }: GatewayRequestHead): { address: string; requestId: string } {
  return { address: remoteAddress, requestId: headers.requestId ?? "" };
}
