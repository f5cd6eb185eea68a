/**
 * The gateway as a protected resource of OAuth (RFC 9728). A client without a valid token learns
 * here what to send: from a challenge that names the metadata of the resource, and from that
 * metadata, which names the authorization server: the gateway itself (gateway/built-in/oauth).
 */
import { valuesOf } from "./headers.js";
import type { BareResponse, GatewayRequestHead } from "./message.js";

/**
 * The paths of the metadata: of the whole gateway, and of `/mcp`, whose path follows the well-known
 * path (RFC 9728 §3.1).
 */
const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const MCP_METADATA = `${WELL_KNOWN}/mcp`;
export const METADATA_PATHS: readonly string[] = [WELL_KNOWN, MCP_METADATA];

/** Why a token was refused (RFC 6750 §3.1): as a code, and in words. */
export interface RefusedToken {
  readonly error: "invalid_token" | "insufficient_scope";
  readonly description: string;
}

/** The settings that say at which address clients reach the gateway. */
interface AddressSettings {
  readonly publicUrl?: string | undefined;
  readonly httpTlsCert?: readonly string[] | undefined;
}

/** The gateway at the configured address, or the address that the client used. */
export class ProtectedResource {
  readonly #publicUrl: string | undefined;
  readonly #isSecure: boolean;

  constructor({ publicUrl, httpTlsCert }: AddressSettings) {
    this.#publicUrl = publicUrl;
    this.#isSecure = httpTlsCert !== undefined;
  }

  /** The configured origin; undefined if none is configured. */
  get publicUrl(): string | undefined {
    return this.#publicUrl;
  }

  /** @param path one of METADATA_PATHS */
  metadata(path: string, request: GatewayRequestHead): BareResponse {
    const origin = this.originOf(request);
    const metadata = {
      resource: path === MCP_METADATA ? `${origin}/mcp` : origin,
      resource_name: "Portico",
      authorization_servers: [origin],
      bearer_methods_supported: ["header"],
    };
    return { status: 200, body: JSON.stringify(metadata), headers: anyOrigin(request) };
  }

  /**
   * The header WWW-Authenticate at `/mcp` (RFC 6750 §3, RFC 9728 §5.1).
   * @param refused undefined if no token was sent
   */
  challenge(request: GatewayRequestHead, refused: RefusedToken | undefined): readonly string[] {
    const parameters = [
      ...(refused === undefined
        ? []
        : [`error="${refused.error}"`, `error_description="${plain(refused.description)}"`]),
      `resource_metadata="${this.originOf(request)}${MCP_METADATA}"`,
    ];
    return ["WWW-Authenticate", `Bearer ${parameters.join(", ")}`];
  }

  /** The same header at every other path. */
  challengeElsewhere(request: GatewayRequestHead): readonly string[] {
    return ["WWW-Authenticate", `Bearer resource_metadata="${this.originOf(request)}${WELL_KNOWN}"`];
  }

  /**
   * The configured origin. If none is configured, it is the host that the client used;
   * X-Forwarded-Proto of a trusted proxy then says whether the client used TLS.
   */
  originOf({ headers, rawHeaders, isProxied = false }: GatewayRequestHead): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl;
    const isSecure = this.#isSecure || (isProxied && valuesOf(rawHeaders, "x-forwarded-proto").at(-1) === "https");
    return `${isSecure ? "https" : "http"}://${plain(headers.host ?? "localhost")}`;
  }
}

/** Lets pages of every origin read the response. They send no credentials with the request. */
export function anyOrigin({ headers }: Pick<GatewayRequestHead, "headers">): readonly string[] {
  return headers.origin === undefined ? [] : ["Access-Control-Allow-Origin", "*"];
}

/** Removes the characters that a description must not have (RFC 6750 §3). */
function plain(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "");
}
