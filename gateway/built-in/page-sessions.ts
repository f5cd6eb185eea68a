/**
 * The session of the web pages, which survives a reload and is shared by tabs:
 *
 *     POST /session/start       a password and a new public key for a cookie and an access token
 *     POST /session/challenge   with the cookie: what the browser has to sign
 *     POST /session             with the cookie and the signature: a further access token
 *     POST /session/end         with both: ends the session
 *
 * A person may sign in by an issuer instead. The page makes its key before it leaves, and nobody
 * without that key can use what comes back (docs/decisions/0108-issuers-on-the-pages.md):
 *
 *     POST /session/issuers     the issuers of a namespace, and where they send people back to
 *     POST /session/begin       an issuer and a new public key for the address of the issuer
 *     POST /session/arrive      after /oauth/callback/<issuer>, with the cookie of the arrival and
 *                               a signature: the session begins
 *
 * The browser sends the cookie to every server on this host, whatever its port. So the cookie alone
 * is worth nothing: each token costs a signature by a key that the browser keeps for this origin.
 * All is decided by the authority (services/auth/login/page-sessions.ts).
 */
import { DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { OAuthService } from "../../src/gen/portico/auth/v1/oauth.js";
import { type SessionProof, SessionsService, type SessionTokens } from "../../src/gen/portico/auth/v1/sessions.js";
import { timestampMs } from "../../src/time.js";
import { HttpError } from "../http/errors.js";
import type { BareResponse, BuiltInRoutes, GatewayRequest } from "../http/message.js";
import type { ProtectedResource } from "../http/protected-resource.js";
import { attemptCookie } from "./oauth/attempt-cookie.js";
import type { OAuthAuthority } from "./oauth/authority.js";
import { originAndId } from "./oauth/request.js";
import { SessionCookies } from "./session-cookies.js";

const MAX_BODY = 16 * 1024;
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/** A request of a page of this gateway, with a JSON object. */
interface Asked {
  readonly request: GatewayRequest;
  readonly body: Readonly<Record<string, unknown>>;
  readonly installation: string;
  readonly cookies: SessionCookies;
}

export class PageSessionRoutes implements BuiltInRoutes {
  readonly roots: BuiltInRoutes["roots"] = ["/session"];
  readonly #authority: OAuthAuthority;
  readonly #resource: Pick<ProtectedResource, "publicUrl">;
  readonly #posts: ReadonlyMap<string, (asked: Asked) => Promise<BareResponse>> = new Map([
    ["/session", (asked: Asked) => this.#createToken(asked)],
    ["/session/start", (asked: Asked) => this.#start(asked)],
    ["/session/challenge", (asked: Asked) => this.#challenge(asked)],
    ["/session/end", (asked: Asked) => this.#end(asked)],
    ["/session/issuers", (asked: Asked) => this.#issuers(asked)],
    ["/session/begin", (asked: Asked) => this.#begin(asked)],
    ["/session/arrive", (asked: Asked) => this.#arrive(asked)],
  ]);

  constructor(authority: OAuthAuthority, resource: Pick<ProtectedResource, "publicUrl">) {
    this.#authority = authority;
    this.#resource = resource;
  }

  reply(path: string): BareResponse | undefined {
    if (!this.#posts.has(path)) return undefined;
    throw new HttpError(405, "The method must be POST", { headers: ["Allow", "POST"] });
  }

  replyToPost(path: string, request: GatewayRequest): Promise<BareResponse> | undefined {
    const post = this.#posts.get(path);
    return post && this.#answer(request, post);
  }

  async #answer(request: GatewayRequest, post: (asked: Asked) => Promise<BareResponse>): Promise<BareResponse> {
    // Browsers send the header to https and loopback addresses alone. Elsewhere no key can be made.
    if (request.headers.fetchSite !== "same-origin") {
      throw new HttpError(403, "Only a page of this gateway may ask for a session: Sec-Fetch-Site must be same-origin");
    }
    const body = await readObject(request);
    const { id: installation } = await this.#authority.call(SessionsService.getInstallation, {});
    // Whether the browser uses TLS is in Origin, also where a proxy ends the TLS.
    const cookies = new SessionCookies(request.headers.origin ?? "", installation);
    return post({ request, body, installation, cookies });
  }

  async #start(asked: Asked): Promise<BareResponse> {
    const { request, body } = asked;
    const { secret, tokens } = await this.#authority.call(SessionsService.start, {
      ...{ account: textOf(body, "account"), password: textOf(body, "password"), namespace: textOf(body, "namespace") },
      ...{ publicKey: bytesOf(body, "key"), ...originAndId(request) },
    });
    return { ...issued(asked, tokens), headers: asked.cookies.write("session", secret) };
  }

  async #challenge(asked: Asked): Promise<BareResponse> {
    const { body, installation } = asked;
    const secret = secretOf(asked, body.arriving === true ? "arrival" : "session");
    const { challenge } = await this.#authority.call(SessionsService.createChallenge, { secret });
    return { status: 200, body: JSON.stringify({ challenge, installation }) };
  }

  async #createToken(asked: Asked): Promise<BareResponse> {
    return issued(asked, await this.#tokens(asked, secretOf(asked, "session")));
  }

  #tokens({ request, body }: Asked, secret: string): Promise<SessionTokens> {
    const proven = { secret, proof: proofOf(body), ...originAndId(request) };
    return this.#authority.call(SessionsService.createToken, proven);
  }

  async #issuers({ body }: Asked): Promise<BareResponse> {
    const namespace = textOf(body, "namespace") || DEFAULT_NAMESPACE;
    const { issuers } = await this.#authority.call(OAuthService.listSignInIssuers, { namespace });
    const { publicUrl = "" } = this.#resource;
    return { status: 200, body: JSON.stringify({ issuers, publicUrl }) };
  }

  async #begin({ request, body, installation }: Asked): Promise<BareResponse> {
    const issuer = textOf(body, "issuer");
    const { publicUrl } = this.#resource;
    // The issuer would send the browser to an address where the page has no key.
    if (publicUrl === undefined || request.headers.origin !== publicUrl) {
      const where = publicUrl === undefined ? "unless PORTICO_PUBLIC_URL is set" : `except at ${publicUrl}`;
      throw new HttpError(400, `Nobody can sign in by an issuer ${where}`);
    }
    const { requestId } = originAndId(request);
    const { error, location, attempt } = await this.#authority.call(OAuthService.beginIssuerSignIn, {
      ...{ issuer, publicUrl, request: undefined, userCode: "", publicKey: bytesOf(body, "key"), requestId },
    });
    if (error !== "") throw new HttpError(400, error);
    const headers = attemptCookie(publicUrl, issuer, attempt);
    return { status: 200, body: JSON.stringify({ location, installation }), headers };
  }

  async #arrive(asked: Asked): Promise<BareResponse> {
    const { cookies } = asked;
    const secret = secretOf(asked, "arrival");
    const tokens = await this.#tokens(asked, secret);
    const headers = [...cookies.write("session", secret), ...cookies.write("arrival", "")];
    return { ...issued(asked, tokens), headers };
  }

  async #end(asked: Asked): Promise<BareResponse> {
    const { request, body, cookies } = asked;
    const secret = secretOf(asked, "session");
    await this.#authority.call(SessionsService.end, { secret, proof: proofOf(body), ...originAndId(request) });
    return { status: 200, body: "{}", headers: cookies.write("session", "") };
  }
}

function issued({ installation }: Asked, tokens: SessionTokens | undefined): BareResponse {
  if (tokens === undefined) throw new HttpError(502, "The authority sent no token");
  const { accessToken, accessExpires, namespace, account, scopes } = tokens;
  const expires = new Date(timestampMs(accessExpires)).toISOString();
  const shown = { accessToken, accessExpires: expires, namespace, account, scopes, installation };
  return { status: 200, body: JSON.stringify(shown) };
}

/** @throws {HttpError} 401 without the cookie. */
function secretOf({ request, cookies }: Asked, kind: "session" | "arrival"): string {
  const secret = cookies.read(kind, request);
  if (secret !== "") return secret;
  const what = kind === "session" ? "The cookie of the session is missing" : "You have not been signed in";
  throw new HttpError(401, `${what}; sign in again`);
}

/** @throws {HttpError} (rejects) 415 another content type, 413, 400 no JSON object */
async function readObject(request: GatewayRequest): Promise<Asked["body"]> {
  if (!JSON_TYPE.test(request.headers.contentType ?? "")) {
    throw new HttpError(415, "The body must be JSON: Content-Type: application/json");
  }
  const text = Buffer.concat(await request.body(MAX_BODY)).toString();
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Asked["body"];
  } catch (error) {
    throw new HttpError(400, "The body must be a JSON object", { cause: error });
  }
  throw new HttpError(400, "The body must be a JSON object");
}

/** A text of the body; "" where it is absent. @throws {HttpError} 400 */
function textOf(body: Asked["body"], name: string): string {
  const value = body[name] ?? "";
  if (typeof value === "string") return value;
  throw new HttpError(400, `${name}: must be a text`);
}

/** Bytes in base64url, in their only spelling. @throws {HttpError} 400 */
function bytesOf(body: Asked["body"], name: string): Buffer {
  const text = textOf(body, name);
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") === text) return bytes;
  throw new HttpError(400, `${name}: must be base64url without padding`);
}

function proofOf(body: Asked["body"]): SessionProof {
  return { challenge: textOf(body, "challenge"), signature: bytesOf(body, "signature") };
}
