/** The page on which a person signs in, and the page on which the person consents. */
import { isLoopbackRedirect } from "../../../src/address/redirect-uri.js";
import { isDocumentUrl } from "../../../src/contract/scope.js";
import type { SignInResponse } from "../../../src/gen/portico/auth/v1/oauth.js";
import type { BareResponse } from "../../http/message.js";
import type { IssuerLink } from "./issuer-pages.js";
import type { Offer, Offers } from "./offers.js";
import { formActionOf, type Html, html, NOTHING, page } from "./page.js";

/** Who asks, as it is shown. Every text may be a lie, except a host or a registered name. */
export interface Asker {
  readonly kind: "registered" | "document" | "loopback" | "device";
  /** What the client calls itself; "" before its document was read. */
  readonly name: string;
  /** The host of the metadata document, or of the redirect URI. */
  readonly host: string;
}

interface SignInForm {
  readonly status?: number;
  readonly headers?: readonly string[];
  readonly asker: Asker | undefined;
  /** Where the form goes: the path and query of the request. */
  readonly action: string;
  readonly error?: string | undefined;
  readonly account?: string;
  readonly namespace: string;
  /** Whether accounts of other namespaces may sign in. */
  readonly choosesNamespace: boolean;
  /** Asked for where a device waits. */
  readonly userCode?: string | undefined;
  /** The issuers by which the person may sign in instead. */
  readonly issuers: readonly IssuerLink[];
}

export function signInPage(form: SignInForm): BareResponse {
  const { status = 200, headers = [], asker, action, error, account = "", namespace, userCode } = form;
  const who = asker === undefined ? "a device" : asked(asker);
  const begin = html`<h1>Sign in</h1>
<p>You are asked to sign in by ${asker === undefined ? html`<strong>a device</strong> that shows a code` : html`<strong>${who}</strong>`}. You see what it asks for before it gets anything.</p>
${error === undefined ? NOTHING : html`<p class="error" role="alert">${error}</p>`}`;
  if (userCode === "" && form.issuers.length > 0) return page(status, "Sign in", html`${begin}${codeFirst(namespace)}`);
  const content = html`${begin}
<form method="post" action="${action}">
${userCode === undefined ? NOTHING : codeField(userCode)}
<label>Account<input type="text" name="account" value="${account}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="128"${userCode === "" ? NOTHING : AUTOFOCUS}></label>
<label>Password<input type="password" name="password" autocomplete="current-password" required maxlength="128"></label>
${form.choosesNamespace ? html`<details${namespace === "default" ? NOTHING : OPEN}><summary>Namespace ${namespace}</summary><label>Namespace<input type="text" name="namespace" value="${namespace}" autocapitalize="none" spellcheck="false" maxlength="63"></label></details>` : NOTHING}
<div class="buttons"><button class="main" type="submit">Sign in</button></div>
</form>
${form.issuers.length === 0 ? NOTHING : elsewhere(form.issuers)}`;
  return page(status, "Sign in", content, { headers });
}

function codeField(userCode: string): Html {
  return html`<label>Code that the device shows<input type="text" name="user_code" value="${userCode}" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20"${userCode === "" ? AUTOFOCUS : NOTHING}></label>`;
}

/** The code goes along to an issuer, so it is asked for before a person chooses how to sign in. */
function codeFirst(namespace: string): Html {
  return html`
<form method="get" action="/device">
<input type="hidden" name="namespace" value="${namespace}">
${codeField("")}
<div class="buttons"><button class="main" type="submit">Continue</button></div>
</form>`;
}

function elsewhere(issuers: readonly IssuerLink[]): Html {
  return html`<div class="buttons else">${issuers.map(({ name, href }) => html`<a href="${href}">Sign in with ${name}</a>`)}</div>`;
}

const AUTOFOCUS = html` autofocus`;
const OPEN = html` open`;
const CHECKED = html` checked`;

/** The same at the start of a sentence. A host or a name of a client is written as it is. */
function capital(text: string): string {
  return text.replace(/^a /, "A ");
}

function asked({ kind, name, host }: Asker): string {
  if (kind === "loopback")
    return name === "" ? "a program on your computer" : `a program on your computer that calls itself ${name}`;
  if (kind === "device") return `a device that calls itself ${name}`;
  return kind === "registered" ? name : host;
}

interface Consent extends Offers {
  readonly asker: Asker;
  readonly signedIn: SignInResponse;
  readonly error?: string;
}

/** How long a grant may live, in days, as the form offers it. */
export const LIFETIMES: readonly number[] = [1, 30, 90, 365];
const DEFAULT_LIFETIME = 30;

export function consentPage({ asker, signedIn, offers, total, offered, own, error }: Consent): BareResponse {
  const { account, namespace, request, isDevice } = signedIn;
  const { redirectUri = "", resource = "" } = request ?? {};
  const where = resource === "/mcp" ? " as tools, at /mcp only" : "";
  const content = html`<h1>${capital(asked(asker))} asks to call for you</h1>
${warning(asker)}
<p>You are signed in as <strong>${account}</strong>, namespace ${namespace}. It may call what you tick and you may call yourself${where}: ${offered} of ${total} endpoint${total === 1 ? "" : "s"}${own === 0 ? "" : `, and ${own} of Portico's own,`} at the moment.</p>
${error === undefined ? NOTHING : html`<p class="error" role="alert">${error}</p>`}
<form method="post" action="/oauth/consent">
<input type="hidden" name="request" value="${signedIn.sealed}">
<fieldset><legend>It may call</legend>
${offers.map(box)}
</fieldset>
${signedIn.maxSeconds > 0 ? untilSoon(signedIn.maxSeconds) : UNTIL}
<p class="soft">You can end it at any time, and it takes effect at once: in the console under <a href="/console/apps" target="_blank">Connected apps</a>.</p>
<div class="buttons"><button type="submit" name="decision" value="deny">Refuse</button><button class="main" type="submit" name="decision" value="allow">Allow</button></div>
</form>
${isDevice ? NOTHING : html`<p class="soft">Then you go on to <code>${shortened(redirectUri)}</code></p>`}`;
  return page(error === undefined ? 200 : 400, "Consent", content, { formAction: formActionOf(redirectUri) });
}

const SELECTED = html` selected`;
const UNTIL = html`<label>Until<select name="days">${LIFETIMES.map((days) => html`<option value="${days}"${days === DEFAULT_LIFETIME ? SELECTED : NOTHING}>${days === 1 ? "1 day" : `${days} days`} from now</option>`)}</select></label>`;

/** An issuer that is not asked again vouches for a short time. */
function untilSoon(seconds: number): Html {
  const minutes = Math.ceil(seconds / 60);
  return html`<input type="hidden" name="days" value="1"><p>Until ${minutes} minutes from now. Then you sign in again.</p>`;
}

function box({ scope, words, count }: Offer): Html {
  return html`<label><input type="checkbox" name="scope" value="${scope}"${CHECKED}>${words} <span>${count}</span></label>`;
}

/** What the person has to know about who asks: names are only claimed. */
function warning({ kind, name, host }: Asker): Html {
  switch (kind) {
    case "registered":
      return html`<p>An administrator registered it as <strong>${name}</strong>. It runs at ${host}.</p>`;
    case "document":
      return html`<p>It is the program at <strong>${host}</strong>. It calls itself “${name}”; nobody has checked that name.</p>`;
    case "loopback":
      return html`<p class="warn">Nobody can tell which program it is. Go on only if you have just started it.</p>`;
    case "device":
      return html`<p class="warn">Nobody can tell which device it is. Go on only if the code is on a device in front of you, and nobody sent it to you.</p>`;
  }
}

function shortened(uri: string): string {
  return uri.length > 100 ? `${uri.slice(0, 100)}…` : uri;
}

/** After a device was decided about. */
export function donePage(title: string, words: string): BareResponse {
  return page(200, title, html`<h1>${title}</h1>\n<p>${words}</p>`);
}

/** Who asks, by what the authority and a metadata document say. */
export function askerOf(
  clientId: string,
  { redirectUri, name, isDevice }: { redirectUri: string; name: string; isDevice: boolean },
): Asker {
  if (isDevice) return { kind: "device", name, host: "" };
  if (isLoopbackRedirect(redirectUri)) return { kind: "loopback", name, host: "" };
  if (isDocumentUrl(clientId)) return { kind: "document", name, host: new URL(clientId).host };
  return { kind: "registered", name, host: URL.canParse(redirectUri) ? new URL(redirectUri).host : redirectUri };
}
