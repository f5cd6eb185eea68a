/**
 * A client without a valid token learns here what to send: from a challenge that names the metadata
 * of the protected resource (RFC 9728), and from that metadata. The metadata names no authorization
 * server, because a token is an API key or comes from `portico login`.
 */
import type { Config } from "../../../src/config/config.js";
import { valuesOf } from "../../http/headers.js";
import type { BareResponse, GatewayRequestHead } from "../../http/message.js";

/**
 * The paths of the metadata: the well-known path, and the same followed by the resource's path (RFC
 * 9728 §3.1).
 */
const WELL_KNOWN = "/.well-known/oauth-protected-resource";
export const METADATA_PATHS: readonly string[] = [WELL_KNOWN, `${WELL_KNOWN}/mcp`];

/** Why a token was refused (RFC 6750 §3.1): as a code, and in words. */
export interface RefusedToken {
  readonly error: "invalid_token" | "insufficient_scope";
  readonly description: string;
}

/**
 * The gateway as a protected resource, at the configured address or the address that the client
 * used.
 */
export class ProtectedResource {
  readonly #publicUrl: string | undefined;
  readonly #isSecure: boolean;

  constructor({ publicUrl, httpTlsCert }: Partial<Pick<Config, "publicUrl" | "httpTlsCert">>) {
    this.#publicUrl = publicUrl;
    this.#isSecure = httpTlsCert !== undefined;
  }

  metadata(request: GatewayRequestHead): BareResponse {
    const metadata = {
      resource: `${this.#originOf(request)}/mcp`,
      resource_name: "Portico",
      bearer_methods_supported: ["header"],
    };
    return { status: 200, body: JSON.stringify(metadata) };
  }

  /**
   * The header WWW-Authenticate (RFC 6750 §3, RFC 9728 §5.1).
   * @param refused undefined if no token was sent
   */
  challenge(request: GatewayRequestHead, refused: RefusedToken | undefined): readonly string[] {
    const parameters = [
      ...(refused === undefined
        ? []
        : [`error="${refused.error}"`, `error_description="${plain(refused.description)}"`]),
      `resource_metadata="${this.#originOf(request)}${METADATA_PATHS[1]}"`,
    ];
    return ["WWW-Authenticate", `Bearer ${parameters.join(", ")}`];
  }

  /**
   * The configured origin. If none is configured, it is the host that the client used;
   * X-Forwarded-Proto of a trusted proxy then says whether the client used TLS.
   */
  #originOf({ headers, rawHeaders, isProxied = false }: GatewayRequestHead): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl;
    const isSecure = this.#isSecure || (isProxied && valuesOf(rawHeaders, "x-forwarded-proto").at(-1) === "https");
    return `${isSecure ? "https" : "http"}://${headers.host ?? "localhost"}`;
  }
}

/** Removes the characters that a description must not have (RFC 6750 §3). */
function plain(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "");
}
