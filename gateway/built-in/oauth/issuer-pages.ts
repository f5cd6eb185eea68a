/**
 * Sign-in by an issuer (OpenID Connect): `/oauth/sign-in/<issuer>` sends the browser there, and
 * `/oauth/callback/<issuer>` gets it back. The authority does the rest; no gateway has the secret
 * of a client.
 */
import {
  type AuthorizationRequest,
  OAuthService,
  type SignInResponse,
} from "../../../src/gen/portico/auth/v1/oauth.js";
import { SessionsService } from "../../../src/gen/portico/auth/v1/sessions.js";
import type { BareResponse, GatewayRequestHead } from "../../http/message.js";
import type { ProtectedResource } from "../../http/protected-resource.js";
import { queryOf } from "../../http/target.js";
import { SessionCookies } from "../session-cookies.js";
import { attemptCookie, attemptOf } from "./attempt-cookie.js";
import type { OAuthAuthority } from "./authority.js";
import { Parameters } from "./form.js";
import { errorPage, redirect } from "./page.js";
import { originAndId } from "./request.js";

export const SIGN_IN = "/oauth/sign-in/";
/** Where a page takes the session. It shows the address again where the person was. */
const BACK = "/console/back";

export interface IssuerPagesOptions {
  readonly authority: OAuthAuthority;
  readonly resource: ProtectedResource;
}

/** A link of the sign-in page. */
export interface IssuerLink {
  readonly name: string;
  readonly href: string;
}

/** For what a person signs in: a request of a client, or a device that shows a code. */
type SignInPurpose = { readonly request: AuthorizationRequest } | { readonly userCode: string };

export class IssuerPages {
  readonly #options: IssuerPagesOptions;

  constructor(options: IssuerPagesOptions) {
    this.#options = options;
  }

  /** The links for people of a namespace. @param query of the request for which they sign in */
  async links(namespace: string, query: string): Promise<readonly IssuerLink[]> {
    const { authority, resource } = this.#options;
    // Issuers send people back to registered addresses only.
    if (resource.publicUrl === undefined) return [];
    const { issuers } = await authority.call(OAuthService.listSignInIssuers, { namespace });
    return issuers.map(({ id, name }) => ({ name, href: `${SIGN_IN}${id}?${query}` }));
  }

  /** Sends the browser to the issuer. @param request of the browser */
  async begin(issuer: string, purpose: SignInPurpose, request: GatewayRequestHead): Promise<BareResponse> {
    const { authority, resource } = this.#options;
    const { publicUrl } = resource;
    if (publicUrl === undefined) {
      return errorPage(404, "People cannot sign in by an issuer before an administrator sets PORTICO_PUBLIC_URL.");
    }
    const asked = "request" in purpose ? { ...purpose, userCode: "" } : { ...purpose, request: undefined };
    const { error, location, attempt } = await authority.call(OAuthService.beginIssuerSignIn, {
      ...{ issuer, publicUrl, ...asked, publicKey: Buffer.alloc(0), requestId: originAndId(request).requestId },
    });
    if (error !== "") return errorPage(400, `${error}.`);
    return redirect(location, attemptCookie(publicUrl, issuer, attempt));
  }

  /** @returns who has signed in, or the page that says why nobody has */
  async end(issuer: string, request: GatewayRequestHead): Promise<SignInResponse | BareResponse> {
    const { authority, resource } = this.#options;
    const query = new Parameters(queryOf(request.target));
    const twice = query.repeated();
    if (twice !== undefined) return errorPage(400, `${twice} is there several times.`);
    const attempt = attemptOf(request, resource.publicUrl ?? "");
    const signedIn = await authority.call(OAuthService.endIssuerSignIn, {
      ...{ issuer, attempt, state: query.get("state"), code: query.get("code") },
      ...{ iss: query.get("iss"), error: query.get("error"), ...originAndId(request) },
    });
    if (signedIn.error === "") return signedIn;
    const leads = signedIn.isPage ? BACK : undefined;
    return this.withoutCookie(issuer, errorPage(signedIn.retryAfter > 0 ? 429 : 400, `${signedIn.error}.`, leads));
  }

  /**
   * Sends the browser back to the page that began. The page's address is not known here, so nobody
   * can choose another one. The page takes the session by its key (page-sessions.ts).
   */
  async backToPage(issuer: string, sessionSecret: string): Promise<BareResponse> {
    const { authority, resource } = this.#options;
    const { id } = await authority.call(SessionsService.getInstallation, {});
    const cookie = new SessionCookies(resource.publicUrl ?? "", id).write("arrival", sessionSecret);
    return this.withoutCookie(issuer, redirect(BACK, cookie));
  }

  /** The page, which deletes the cookie: the attempt was used. */
  withoutCookie(issuer: string, page: BareResponse): BareResponse {
    const cookie = attemptCookie(this.#options.resource.publicUrl ?? "", issuer, "");
    return { ...page, headers: [...(page.headers ?? []), ...cookie] };
  }
}

/** The issuer in a path; undefined for another path. */
export function issuerIn(path: string, root: string): string | undefined {
  const id = path.startsWith(root) ? path.slice(root.length) : "";
  return /^[a-z0-9][a-z0-9.-]{0,126}$/.test(id) ? id : undefined;
}
