/**
 * The cookies of the pages' sessions. The browser sends them to `/session` alone, and never with a
 * request that another site has begun. Each holds the secret of a session:
 *
 *     portico-<installation>           of the session of this browser
 *     portico-arrival-<installation>   of one that begins: its person comes from an issuer, and the
 *                                      page has not taken it yet
 */
import { cookieOf } from "../http/cookies.js";
import type { GatewayRequestHead } from "../http/message.js";

type CookieKind = "session" | "arrival";

/**
 * In seconds. Only the page's own requests change the cookie of the session: the late response to
 * another request would replace the cookie of a later sign-in. The authority ends sessions that are
 * not used much earlier.
 */
const LIVES: Readonly<Record<CookieKind, number>> = { session: 30 * 24 * 60 * 60, arrival: 600 };

/** The cookies of an installation at one origin. */
export class SessionCookies {
  readonly #isSecure: boolean;
  readonly #installation: string;

  /** @param origin of the page, as the browser reaches it */
  constructor(origin: string, installation: string) {
    this.#isSecure = origin.startsWith("https:");
    this.#installation = installation;
  }

  /** The secret that the browser sends; "" for none. */
  read(kind: CookieKind, request: Pick<GatewayRequestHead, "rawHeaders">): string {
    return cookieOf(request, this.#name(kind)) ?? "";
  }

  /** The header that sets the cookie. @param secret "" deletes it */
  write(kind: CookieKind, secret: string): readonly string[] {
    const age = secret === "" ? 0 : LIVES[kind];
    const secure = this.#isSecure ? "; Secure" : "";
    const attributes = `Path=/session; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
    return ["Set-Cookie", `${this.#name(kind)}=${secret}; ${attributes}`];
  }

  /** Browsers take a cookie with the prefix only over TLS (RFC 6265bis §4.1.3.1). */
  #name(kind: CookieKind): string {
    return `${this.#isSecure ? "__Secure-" : ""}portico-${kind === "session" ? "" : "arrival-"}${this.#installation}`;
  }
}
