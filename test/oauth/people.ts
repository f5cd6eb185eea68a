/** A person with a browser, who signs in at the gateway by an issuer: cookies and plain forms. */
import { createHash } from "node:crypto";
import type { Door } from "./browser.js";

/** The gateway's public URL: requests to it go to the gateway of the test. */
export const PUBLIC = "https://portico.test";
const REDIRECT = "https://app.example/callback";
const VERIFIER = "v".repeat(43);

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const unescaped = (text: string): string =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

export class Browser {
  readonly #door: Door;
  /** By origin: name, value and path. */
  readonly #cookies: { origin: string; name: string; value: string; path: string }[] = [];

  constructor(door: Door) {
    this.#door = door;
  }

  /** Opens a URL, and follows redirects to the gateway and to loopback addresses only. */
  async open(url: string, form?: URLSearchParams): Promise<Page> {
    const page = await this.once(url, form);
    const location = page.headers.get("location");
    if (location === null) return page;
    const next = new URL(location, url);
    const isHere = next.origin === PUBLIC || next.hostname === "127.0.0.1";
    return isHere ? this.open(next.href) : { ...page, url: next.href };
  }

  /** Opens a URL, and follows nothing. */
  async once(url: string, form?: URLSearchParams): Promise<Page> {
    const { origin } = new URL(url);
    const cookie = this.cookieFor(url);
    const response = await fetch(url.replace(PUBLIC, this.#door.url), {
      redirect: "manual",
      headers: cookie === "" ? {} : { cookie },
      ...(form !== undefined && { method: "POST", body: form }),
    });
    for (const line of response.headers.getSetCookie()) this.#keep(origin, line);
    return { url, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Takes the cookies of a response that a page has got. */
  take(origin: string, headers: Headers): void {
    for (const line of headers.getSetCookie()) this.#keep(origin, line);
  }

  /** The header `Cookie` that it sends to a URL. */
  cookieFor(url: string): string {
    const { origin, pathname } = new URL(url);
    const sent = this.#cookies.filter((one) => one.origin === origin && pathname.startsWith(one.path));
    return sent.map(({ name, value }) => `${name}=${value}`).join("; ");
  }

  /** Takes the cookies of another browser. */
  copy(other: Browser): void {
    this.#cookies.push(...other.#cookies);
  }

  /** Sends the page's first form that is posted. */
  submit(page: Page, filled: Record<string, string> = {}): Promise<Page> {
    const [, action = "", inside = ""] =
      /<form[^>]*action="([^"]*)" method="post">([\s\S]*?)<\/form>/.exec(page.text) ??
      /<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/.exec(page.text) ??
      [];
    const fields = [...inside.matchAll(/<input type="(?:hidden|checkbox)" name="(\w+)" value="([^"]*)"/g)];
    const form = new URLSearchParams(
      fields.map(([, name = "", value = ""]): [string, string] => [name, unescaped(value)]),
    );
    const days = /<select name="days">.*?<option value="(\d+)" selected/.exec(inside)?.[1];
    if (days !== undefined) form.set("days", days);
    for (const [name, value] of Object.entries(filled)) form.set(name, value);
    return this.open(new URL(unescaped(action), page.url).href, form);
  }

  #keep(origin: string, line: string): void {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
    const [name = "", value = ""] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    const path = attributes.find((one) => /^path=/i.test(one))?.slice("path=".length) ?? "/";
    const at = this.#cookies.findIndex((one) => one.origin === origin && one.name === name && one.path === path);
    if (at >= 0) this.#cookies.splice(at, 1);
    const isDeleted = attributes.some((one) => /^max-age=0$/i.test(one)) || value === "";
    if (!isDeleted) this.#cookies.push({ origin, name, value, path });
  }
}

/** Where a client sends the browser to. @param clientId registered with `registerApp` */
export function authorizeUrl(clientId = "app"): string {
  const challenge = createHash("sha256").update(VERIFIER).digest("base64url");
  const query = new URLSearchParams({
    ...{ response_type: "code", client_id: clientId, redirect_uri: REDIRECT, state: "of the app" },
    ...{ code_challenge: challenge, code_challenge_method: "S256", scope: "*:*:*" },
  });
  return `${PUBLIC}/oauth/authorize?${query}`;
}

export async function registerApp(door: Door): Promise<void> {
  await door.auth("Clients/Create", { name: "app", redirectUris: [REDIRECT], confidential: false });
}

/** From the gateway's sign-in page to the issuer. Nothing is followed. */
export async function goToIssuer(browser: Browser, from = authorizeUrl()): Promise<Page> {
  const page = await browser.open(from);
  const href = /<a href="(\/oauth\/sign-in\/[^"]*)">/.exec(page.text)?.[1];
  if (href === undefined) throw new Error(`no issuer on ${page.text}`);
  return browser.once(PUBLIC + unescaped(href));
}

/** Signs in at oidc-provider, and comes back: the consent page, or the page that says why not. */
export async function signInAs(browser: Browser, sub: string): Promise<Page> {
  return signInThere(browser, (await goToIssuer(browser)).headers.get("location") ?? "", sub);
}

/** The same from the redirect to the issuer on. */
export async function signInThere(browser: Browser, location: string, sub: string): Promise<Page> {
  let page = await browser.open(location);
  if (/name="login"/.test(page.text)) page = await browser.submit(page, { login: sub, password: "of the issuer" });
  return /name="prompt" value="consent"/.test(page.text) ? browser.submit(page) : page;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly error?: string;
}

/** Allows what the consent page asks, and gets the client's tokens. */
export async function allow(door: Door, browser: Browser, page: Page): Promise<Tokens> {
  const done = await browser.submit(page, { decision: "allow" });
  const code = new URL(done.url).searchParams.get("code");
  if (code === null) throw new Error(`no code: ${done.status} ${done.url} ${done.text}`);
  return tokensBy(door, { grant_type: "authorization_code", code, redirect_uri: REDIRECT, code_verifier: VERIFIER });
}

export function refresh(door: Door, { refresh_token }: Tokens): Promise<Tokens> {
  return tokensBy(door, { grant_type: "refresh_token", refresh_token });
}

async function tokensBy({ url }: Door, form: Record<string, string>): Promise<Tokens> {
  const body = new URLSearchParams({ client_id: "app", ...form });
  return (await (await fetch(`${url}/oauth/token`, { method: "POST", body })).json()) as Tokens;
}

/** The reason on a page that leads nowhere. */
export function reasonOn({ status, text }: Page): string {
  return `${status} ${unescaped(/role="alert">([^<]*)</.exec(text)?.[1] ?? text)}`;
}
