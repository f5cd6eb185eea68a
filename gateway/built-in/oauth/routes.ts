/**
 * Portico as the authorization server of its gateway (OAuth 2.1). A person signs in and consents on
 * a page, and a program gets tokens, which the authority issues and can take back at once:
 *
 *     metadata    /.well-known/oauth-authorization-server (RFC 8414)
 *     authorize   /oauth/authorize, /oauth/consent: sign-in and consent (authorize.ts)
 *     device      /device: the same for a device without a browser
 *     sign-in     /oauth/sign-in/<issuer>, /oauth/callback/<issuer> (issuer-pages.ts)
 *     token       /oauth/token, /revoke, /introspect, /device_authorization (token.ts)
 *
 * Nothing is decided here: the authority checks the password, the client and the code. These paths
 * take forms, and read them without a token.
 */
import { Code, StatusError } from "../../../src/errors.js";
import { HttpError } from "../../http/errors.js";
import type { BareResponse, BuiltInRoutes, GatewayRequest, GatewayRequestHead } from "../../http/message.js";
import { anyOrigin, type ProtectedResource } from "../../http/protected-resource.js";
import { isOfAnotherOrigin } from "../../stages/cors.js";
import { CALLBACK } from "./attempt-cookie.js";
import { AuthorizationPages, type AuthorizeOptions } from "./authorize.js";
import { issuerIn, SIGN_IN } from "./issuer-pages.js";
import { errorPage } from "./page.js";
import { GRANT_TYPE_NAMES, introspect, revoke, startDevice, type TokenOptions, token } from "./token.js";

const METADATA = "/.well-known/oauth-authorization-server";
const POST_ONLY = ["Allow", "POST"];

type Post = (request: GatewayRequest) => Promise<BareResponse>;

export class OAuthRoutes implements BuiltInRoutes {
  readonly roots: BuiltInRoutes["roots"] = ["/oauth", "/device", "/.well-known"];
  readonly #resource: ProtectedResource;
  readonly #pages: AuthorizationPages;
  readonly #documentsEnabled: boolean;
  /** What a POST to each path does. */
  readonly #posts: ReadonlyMap<string, Post>;

  constructor(options: AuthorizeOptions & TokenOptions) {
    this.#resource = options.resource;
    this.#documentsEnabled = options.documents.enabled;
    this.#pages = new AuthorizationPages(options);
    const pages = this.#pages;
    this.#posts = new Map<string, Post>([
      ["/oauth/authorize", ofOwnPage((request) => pages.signIn(request))],
      ["/oauth/consent", ofOwnPage((request) => pages.consent(request))],
      ["/device", ofOwnPage((request) => pages.signInForDevice(request))],
      ["/oauth/token", (request) => token(options, request)],
      ["/oauth/revoke", (request) => revoke(options, request)],
      ["/oauth/introspect", (request) => introspect(options, request)],
      ["/oauth/device_authorization", (request) => startDevice(options, request)],
    ]);
  }

  reply(path: string, request: GatewayRequestHead): BareResponse | Promise<BareResponse> | undefined {
    if (path === METADATA) return this.#metadata(request);
    if (path === "/oauth/authorize") return asPage(() => this.#pages.authorize(request))(request);
    if (path === "/device") return asPage(() => this.#pages.device(request))(request);
    const issuer = issuerIn(path, SIGN_IN);
    if (issuer !== undefined) return asPage(() => this.#pages.signInAt(issuer, request))(request);
    const vouching = issuerIn(path, CALLBACK);
    if (vouching !== undefined) return asPage(() => this.#pages.callback(vouching, request))(request);
    if (!this.#posts.has(path)) return undefined;
    throw new HttpError(405, "The method must be POST", { headers: POST_ONLY });
  }

  replyToPost(path: string, request: GatewayRequest): Promise<BareResponse> | undefined {
    return this.#posts.get(path)?.(request);
  }

  #metadata(request: GatewayRequestHead): BareResponse {
    const origin = this.#resource.originOf(request);
    const methods = ["none", "client_secret_basic", "client_secret_post"];
    const metadata = {
      issuer: origin,
      authorization_endpoint: `${origin}/oauth/authorize`,
      token_endpoint: `${origin}/oauth/token`,
      revocation_endpoint: `${origin}/oauth/revoke`,
      introspection_endpoint: `${origin}/oauth/introspect`,
      device_authorization_endpoint: `${origin}/oauth/device_authorization`,
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: GRANT_TYPE_NAMES,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_methods_supported: ["bearer"],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: this.#documentsEnabled,
      protected_resources: [origin, `${origin}/mcp`],
    };
    return { status: 200, body: JSON.stringify(metadata), headers: anyOrigin(request) };
  }
}

/** As `asPage`, for a form. PORTICO_CORS is about callers of services: no other page sends one. */
function ofOwnPage(run: Post): Post {
  return asPage(async (request: GatewayRequest) => {
    if (!isOfAnotherOrigin(request.headers)) return run(request);
    throw new HttpError(403, "Only a page of this gateway may send this form.");
  });
}

/** Shows a person every error as a page. */
function asPage<R extends GatewayRequestHead>(run: (request: R) => Promise<BareResponse>) {
  return async (request: R): Promise<BareResponse> => {
    try {
      return await run(request);
    } catch (error) {
      if (error instanceof HttpError) return errorPage(error.status, error.message);
      if (error instanceof StatusError && error.code === Code.UNAVAILABLE) {
        return errorPage(503, "The authority cannot be reached at the moment. Try again.");
      }
      throw error;
    }
  };
}
