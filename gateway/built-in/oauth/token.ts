/**
 * `POST /oauth/token` (RFC 6749 §3.2), `/oauth/revoke` (RFC 7009), `/oauth/introspect` (RFC 7662)
 * and `/oauth/device_authorization` (RFC 8628 §3.1): forms in, JSON out.
 */
import { bearerOf } from "../../../src/call/token.js";
import { MAX_CLIENT_NAME } from "../../../src/contract/names.js";
import { type ExchangeRequest, OAuthService } from "../../../src/gen/portico/auth/v1/oauth.js";
import { timestampMs } from "../../../src/time.js";
import type { BareResponse, GatewayRequest } from "../../http/message.js";
import { anyOrigin, type ProtectedResource } from "../../http/protected-resource.js";
import type { OAuthAuthority } from "./authority.js";
import { type Parameters, readForm } from "./form.js";
import { originAndId, resourceOf } from "./request.js";
import { ACCESS_TOKEN_TYPE, exchangeJwt, exchangeProblem, TOKEN_EXCHANGE } from "./token-exchange.js";

export interface TokenOptions {
  readonly authority: OAuthAuthority;
  readonly resource: ProtectedResource;
}

/** An error of RFC 6749 §5.2, as thrown here. */
class OAuthError extends Error {
  constructor(
    readonly code: string,
    description: string,
    readonly status = 400,
  ) {
    super(description);
  }
}

/** How a client says who it is. */
interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A request to the token endpoint. */
export interface TokenRequest {
  readonly request: GatewayRequest;
  readonly form: Parameters;
  readonly client: ClientCredentials;
  /** Empty, `/` for the whole gateway, or `/mcp`. */
  readonly resource: string;
}

type Grant = (options: TokenOptions, request: TokenRequest) => Promise<BareResponse>;

/** How each grant type gets its tokens. A further one is a line here. */
const GRANT_TYPES: ReadonlyMap<string, Grant> = new Map<string, Grant>([
  ["authorization_code", (options, asked) => exchange(options, asked, "code", "code")],
  ["refresh_token", (options, asked) => exchange(options, asked, "refresh_token", "refreshToken")],
  [
    "urn:ietf:params:oauth:grant-type:device_code",
    (options, asked) => exchange(options, asked, "device_code", "deviceCode"),
  ],
  [TOKEN_EXCHANGE, ({ authority }, asked) => exchangeToken(authority, asked)],
]);

export const GRANT_TYPE_NAMES: readonly string[] = [...GRANT_TYPES.keys()];

export function token(options: TokenOptions, request: GatewayRequest): Promise<BareResponse> {
  return answered(request, async (form) => {
    const grantType = form.get("grant_type");
    const grant = GRANT_TYPES.get(grantType);
    if (grantType === "") throw new OAuthError("invalid_request", "grant_type is missing");
    if (grant === undefined) throw new OAuthError("unsupported_grant_type", "grant_type is none of the metadata's");
    const resource = resourceIn(form, options.resource.originOf(request));
    const client = grantType === TOKEN_EXCHANGE ? NO_CLIENT : clientOf(request, form);
    return grant(options, { request, form, client, resource });
  });
}

/** The JWT of a token exchange says who asks. */
const NO_CLIENT: ClientCredentials = { clientId: "", clientSecret: "" };

async function exchangeToken(authority: OAuthAuthority, asked: TokenRequest): Promise<BareResponse> {
  const problem = exchangeProblem(asked.form);
  if (problem !== undefined) throw new OAuthError("invalid_request", problem);
  const { error, description, ...issued } = await exchangeJwt(authority, asked);
  if (error !== "") throw errorOf(error, description);
  return json(200, {
    access_token: issued.accessToken,
    issued_token_type: ACCESS_TOKEN_TYPE,
    token_type: "Bearer",
    expires_in: issued.expiresIn,
    scope: issued.scopes.join(" "),
  });
}

async function exchange(
  { authority }: TokenOptions,
  { request, form, client, resource }: TokenRequest,
  name: string,
  $case: "code" | "refreshToken" | "deviceCode",
): Promise<BareResponse> {
  const value = form.get(name);
  if (value === "") throw new OAuthError("invalid_request", `${name} is missing`);
  const asked: ExchangeRequest = {
    ...client,
    credential: { $case, value } as ExchangeRequest["credential"],
    redirectUri: form.get("redirect_uri"),
    verifier: form.get("code_verifier"),
    resource,
    scopes: form.words("scope"),
    ...originAndId(request),
  };
  const response = await authority.call(OAuthService.exchange, asked);
  if (response.error !== "") throw errorOf(response.error, response.description);
  return json(200, {
    access_token: response.accessToken,
    token_type: "Bearer",
    expires_in: response.expiresIn,
    refresh_token: response.refreshToken,
    scope: response.scopes.join(" "),
  });
}

export function revoke({ authority }: TokenOptions, request: GatewayRequest): Promise<BareResponse> {
  return answered(request, async (form) => {
    const text = form.get("token");
    if (text === "") throw new OAuthError("invalid_request", "token is missing");
    const asked = { ...clientOf(request, form), token: text, ...originAndId(request) };
    const { error } = await authority.call(OAuthService.revokeToken, asked);
    if (error !== "") throw errorOf(error, "the client or its secret is unknown");
    return { status: 200, body: "" };
  });
}

/** Only a service that sends its enrolment token as bearer token may ask. */
export function introspect({ authority, resource }: TokenOptions, request: GatewayRequest): Promise<BareResponse> {
  return answered(request, async (form) => {
    const { authorization } = request.headers;
    const enrolment = authorization === undefined ? undefined : bearerOf(authorization);
    const response = await authority.call(OAuthService.introspect, {
      token: form.get("token"),
      enrolment: enrolment ?? "",
    });
    if (response.refused) {
      const words = { error: "invalid_token", error_description: "send the enrolment token of a service" };
      return { ...json(401, words), headers: resource.challengeElsewhere(request) };
    }
    if (!response.active) return json(200, { active: false });
    const origin = resource.originOf(request);
    return json(200, {
      active: true,
      scope: response.scopes.join(" "),
      client_id: response.clientId || undefined,
      username: response.account,
      sub: response.account,
      namespace: response.namespace,
      token_type: "Bearer",
      exp: Math.floor(timestampMs(response.expires) / 1000),
      iat: response.issued && Math.floor(timestampMs(response.issued) / 1000),
      iss: origin,
      aud: response.mcpOnly ? `${origin}/mcp` : origin,
    });
  });
}

export function startDevice({ authority, resource }: TokenOptions, request: GatewayRequest): Promise<BareResponse> {
  return answered(request, async (form) => {
    const origin = resource.originOf(request);
    const asked = resourceIn(form, origin);
    const response = await authority.call(OAuthService.startDevice, {
      ...clientOf(request, form),
      clientName: form.get("client_name").slice(0, MAX_CLIENT_NAME),
      scopes: form.words("scope"),
      resource: asked === "/" ? "" : asked,
      address: request.remoteAddress,
    });
    if (response.error !== "") throw errorOf(response.error, response.description);
    const { deviceCode, userCode, expiresIn, interval } = response;
    return json(200, {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: `${origin}/device`,
      verification_uri_complete: `${origin}/device?user_code=${userCode}`,
      expires_in: expiresIn,
      interval,
    });
  });
}

/** Runs an endpoint, and writes the errors that it throws. */
async function answered(
  request: GatewayRequest,
  run: (form: Parameters) => Promise<BareResponse>,
): Promise<BareResponse> {
  const form = await readForm(request);
  try {
    const twice = form.repeated("resource");
    if (twice !== undefined) throw new OAuthError("invalid_request", `${twice} is there several times`);
    const reply = await run(form);
    return { ...reply, headers: [...(reply.headers ?? []), ...anyOrigin(request)] };
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const { code, message, status } = error;
    const challenge = status === 401 ? ["WWW-Authenticate", 'Basic realm="Portico", charset="UTF-8"'] : [];
    return {
      ...json(status, { error: code, error_description: message }),
      headers: [...challenge, ...anyOrigin(request)],
    };
  }
}

function errorOf(code: string, description: string): OAuthError {
  return new OAuthError(code, description, code === "invalid_client" ? 401 : 400);
}

const NO_BASIC = "the header Authorization is not the client's ID, a colon and its secret, in base64";

/**
 * The client's ID and secret, in the header Authorization or in the form, not in both (RFC 6749
 * §2.3.1).
 * @throws {OAuthError}
 */
function clientOf({ headers }: GatewayRequest, form: Parameters): ClientCredentials {
  const [id, secret] = [form.get("client_id"), form.get("client_secret")];
  const { authorization } = headers;
  if (authorization === undefined || !/^basic /i.test(authorization)) {
    if (id === "") throw new OAuthError("invalid_client", "client_id is missing", 401);
    return { clientId: id, clientSecret: secret };
  }
  const given = Buffer.from(authorization.slice("Basic ".length).trim(), "base64").toString("utf8");
  const colon = given.indexOf(":");
  if (colon < 0) throw new OAuthError("invalid_client", NO_BASIC, 401);
  if (secret !== "") throw new OAuthError("invalid_client", "the client authenticates in two ways", 401);
  const basic = { clientId: decoded(given.slice(0, colon)), clientSecret: decoded(given.slice(colon + 1)) };
  if (id !== "" && id !== basic.clientId) throw new OAuthError("invalid_client", "two clients are named", 401);
  return basic;
}

/** @throws {OAuthError} */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new OAuthError("invalid_client", "the header Authorization has a broken percent-encoding", 401);
  }
}

/** As `resourceOf`. @throws {OAuthError} */
function resourceIn(form: Parameters, origin: string): string {
  const resource = resourceOf(form, origin);
  if (resource !== undefined) return resource;
  throw new OAuthError("invalid_target", "resource is not this gateway, nor its /mcp");
}

function json(status: number, value: unknown): BareResponse {
  return { status, body: JSON.stringify(value) };
}
