/**
 * The session of the web pages, which survives a reload and is shared by tabs:
 *
 *     POST /session/start       a password and a new public key for a cookie and an access token
 *     POST /session/challenge   with the cookie: what the browser has to sign
 *     POST /session             with the cookie and the signature: a further access token
 *     POST /session/end         with both: ends the session
 *
 * The browser sends the cookie to every server on this host, whatever its port. So the cookie alone
 * is worth nothing: each token costs a signature by a key that the browser keeps for this origin.
 * All is decided by the authority (services/auth/login/page-sessions.ts).
 */
import { type SessionProof, SessionsService, type SessionTokens } from "../../src/gen/portico/auth/v1/sessions.js";
import { timestampMs } from "../../src/time.js";
import { cookieOf } from "../http/cookies.js";
import { HttpError } from "../http/errors.js";
import type { BareResponse, BuiltInRoutes, GatewayRequest } from "../http/message.js";
import type { OAuthAuthority } from "./oauth/authority.js";
import { originAndId } from "./oauth/request.js";

const MAX_BODY = 16 * 1024;
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;
/**
 * In seconds. Only the sign-in sets the cookie: the late response to another request would replace
 * the cookie of a later sign-in. The authority ends sessions that are not used much earlier.
 */
const COOKIE_LIFE = 30 * 24 * 60 * 60;

/** A request of a page of this gateway, with a JSON object. */
interface Asked {
  readonly request: GatewayRequest;
  readonly body: Readonly<Record<string, unknown>>;
  readonly installation: string;
}

export class PageSessionRoutes implements BuiltInRoutes {
  readonly roots: BuiltInRoutes["roots"] = ["/session"];
  readonly #authority: OAuthAuthority;
  readonly #posts: ReadonlyMap<string, (asked: Asked) => Promise<BareResponse>> = new Map([
    ["/session", (asked: Asked) => this.#createToken(asked)],
    ["/session/start", (asked: Asked) => this.#start(asked)],
    ["/session/challenge", (asked: Asked) => this.#challenge(asked)],
    ["/session/end", (asked: Asked) => this.#end(asked)],
  ]);

  constructor(authority: OAuthAuthority) {
    this.#authority = authority;
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
    return post({ request, body, installation });
  }

  async #start(asked: Asked): Promise<BareResponse> {
    const { request, body } = asked;
    const { secret, tokens } = await this.#authority.call(SessionsService.start, {
      ...{ account: textOf(body, "account"), password: textOf(body, "password"), namespace: textOf(body, "namespace") },
      ...{ publicKey: bytesOf(body, "key"), ...originAndId(request) },
    });
    const headers = setCookie(asked, { secret, seconds: COOKIE_LIFE });
    return { ...issued(asked, tokens), headers };
  }

  async #challenge({ request, installation }: Asked): Promise<BareResponse> {
    const secret = secretOf(request, installation);
    const { challenge } = await this.#authority.call(SessionsService.createChallenge, { secret });
    return { status: 200, body: JSON.stringify({ challenge, installation }) };
  }

  async #createToken(asked: Asked): Promise<BareResponse> {
    const { request, body, installation } = asked;
    const secret = secretOf(request, installation);
    const proven = { secret, proof: proofOf(body), ...originAndId(request) };
    return issued(asked, await this.#authority.call(SessionsService.createToken, proven));
  }

  async #end(asked: Asked): Promise<BareResponse> {
    const { request, body, installation } = asked;
    const secret = secretOf(request, installation);
    await this.#authority.call(SessionsService.end, { secret, proof: proofOf(body), ...originAndId(request) });
    return { status: 200, body: "{}", headers: setCookie(asked, { secret: "", seconds: 0 }) };
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
function secretOf(request: GatewayRequest, installation: string): string {
  const secret = cookieOf(request, cookieName(request, installation));
  if (secret !== undefined && secret !== "") return secret;
  throw new HttpError(401, "The cookie of the session is missing; sign in again");
}

function setCookie(
  { request, installation }: Omit<Asked, "body">,
  { secret, seconds }: { readonly secret: string; readonly seconds: number },
): readonly string[] {
  const name = cookieName(request, installation);
  const secure = name.startsWith("__Secure-") ? "; Secure" : "";
  const attributes = `Path=/session; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  return ["Set-Cookie", `${name}=${secret}; ${attributes}`];
}

/**
 * Browsers take a cookie with the prefix only over TLS (RFC 6265bis §4.1.3.1). Whether they use TLS
 * is in the header Origin, which they send with each POST, also where a proxy ends the TLS.
 */
function cookieName({ headers }: GatewayRequest, installation: string): string {
  const isSecure = headers.origin?.startsWith("https:") === true;
  return `${isSecure ? "__Secure-" : ""}portico-${installation}`;
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
