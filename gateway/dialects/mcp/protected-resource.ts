/**
 * How a client without a valid token learns what to send: a challenge that names the metadata of the protected resource (RFC
 * 9728), and that metadata. It names no authorization server: a token is an API key, or comes from `portico login`.
 */
import type { Config } from "../../../src/config/config.js";
import { valuesOf } from "../../http/headers.js";
import type { BareResponse, GatewayRequestHead } from "../../http/message.js";

/** Where the metadata lie: at the well-known path alone, and with the path of the resource behind it (RFC 9728 §3.1). */
const WELL_KNOWN = "/.well-known/oauth-protected-resource";
export const METADATA_PATHS: readonly string[] = [WELL_KNOWN, `${WELL_KNOWN}/mcp`];

/** Why a token was refused (RFC 6750 §3.1), and the same in words. */
export interface RefusedToken {
  readonly error: "invalid_token" | "insufficient_scope";
  readonly description: string;
}

/** The gateway as a protected resource, at the address that is set or that the client used. */
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

  /** The header WWW-Authenticate (RFC 6750 §3, RFC 9728 §5.1). @param refused undefined where no token was sent */
  challenge(request: GatewayRequestHead, refused: RefusedToken | undefined): readonly string[] {
    const parameters = [
      ...(refused === undefined
        ? []
        : [`error="${refused.error}"`, `error_description="${plain(refused.description)}"`]),
      `resource_metadata="${this.#originOf(request)}${METADATA_PATHS[1]}"`,
    ];
    return ["WWW-Authenticate", `Bearer ${parameters.join(", ")}`];
  }

  /** Where none is set, the host that the client used; X-Forwarded-Proto of a trusted proxy says that it speaks TLS for the gateway. */
  #originOf({ headers, rawHeaders, isProxied = false }: GatewayRequestHead): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl;
    const isSecure = this.#isSecure || (isProxied && valuesOf(rawHeaders, "x-forwarded-proto").at(-1) === "https");
    return `${isSecure ? "https" : "http"}://${headers.host ?? "localhost"}`;
  }
}

/** Without the characters that a description must not have (RFC 6750 §3). */
function plain(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "");
}
