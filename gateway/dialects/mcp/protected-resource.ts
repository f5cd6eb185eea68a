/**
 * How a client without a valid token learns what to send: a challenge that names the metadata of the protected resource (RFC
 * 9728), and that metadata. It names no authorization server: a token is an API key, or comes from `portico login`.
 */
import { type GatewayRequest, type Reply, valuesOf } from "../../http.js";

/** Where the metadata lie: at the well-known path alone, and with the path of the resource behind it (RFC 9728 §3.1). */
const WELL_KNOWN = "/.well-known/oauth-protected-resource";
export const METADATA_PATHS: readonly string[] = [WELL_KNOWN, `${WELL_KNOWN}/mcp`];

/** The address that the client used; behind a proxy that speaks TLS for the gateway, X-Forwarded-Proto says so. */
function originOf({ headers, rawHeaders }: GatewayRequest): string {
  const secure = valuesOf(rawHeaders, "x-forwarded-proto").at(-1) === "https";
  return `${secure ? "https" : "http"}://${headers.host ?? "localhost"}`;
}

export function resourceMetadata(request: GatewayRequest): Reply {
  const metadata = {
    resource: `${originOf(request)}/mcp`,
    resource_name: "Portico",
    bearer_methods_supported: ["header"],
  };
  return { status: 200, body: JSON.stringify(metadata) };
}

/** Why a token was refused (RFC 6750 §3.1), and the same in words. */
export interface RefusedToken {
  readonly error: "invalid_token" | "insufficient_scope";
  readonly description: string;
}

/** The header WWW-Authenticate (RFC 6750 §3, RFC 9728 §5.1). @param refused undefined where no token was sent */
export function challenge(request: GatewayRequest, refused: RefusedToken | undefined): readonly string[] {
  const parameters = [
    ...(refused === undefined ? [] : [`error="${refused.error}"`, `error_description="${plain(refused.description)}"`]),
    `resource_metadata="${originOf(request)}${METADATA_PATHS[1]}"`,
  ];
  return ["WWW-Authenticate", `Bearer ${parameters.join(", ")}`];
}

/** Without the characters that a description must not have (RFC 6750 §3). */
function plain(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "");
}
