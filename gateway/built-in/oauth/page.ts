/**
 * The pages of sign-in and consent: plain HTML with forms, without a script. No other page may
 * frame them, so nobody can be made to click in one unseen (RFC 9700 §4.16).
 */
import { createHash } from "node:crypto";
import type { BareResponse } from "../../http/message.js";

/** A text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** HTML in which every text is escaped. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Html | readonly Html[])[]
): Html {
  const written = values.map((value) => {
    if (value instanceof Html) return value.text;
    if (typeof value === "object") return value.map(({ text }) => text).join("");
    return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
  });
  return new Html(parts.map((part, index) => part + (written[index] ?? "")).join(""));
}

export const NOTHING = new Html("");

const STYLE = `
:root{color-scheme:light dark;--page:#faf9f6;--ink:#1d1b17;--soft:#6b675f;--line:#dcd8cf;--accent:#0b5a9c;--on:#fff;--warn:#b5532a;--panel:#fff}
@media(prefers-color-scheme:dark){:root{--page:#141413;--ink:#eceae4;--soft:#a5a198;--line:#3a3833;--accent:#7db8ee;--on:#141413;--warn:#e39a76;--panel:#1d1c1a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/24px system-ui,sans-serif}
main{max-width:480px;margin:0 auto;padding:32px 16px 48px}
p.brand{font-weight:650;margin:0 0 24px}
h1{font-size:24px;line-height:32px;font-weight:650;letter-spacing:-.02em;margin:0 0 16px;overflow-wrap:anywhere}
h2,legend{font-size:15px;line-height:24px;font-weight:600;margin:0;padding:0}
p{margin:0 0 16px;overflow-wrap:anywhere}
form{margin:24px 0 0}form+p{margin-top:16px}
label{display:block;margin:0 0 16px;font-size:13px;line-height:20px}
input[type=text],input[type=password],select{display:block;width:100%;height:44px;margin-top:4px;padding:0 12px;border:1px solid var(--line);border-radius:6px;background:var(--panel);color:var(--ink);font:15px/24px system-ui,sans-serif}
fieldset{border:1px solid var(--line);border-radius:10px;padding:12px 16px;margin:0 0 24px}
fieldset label{display:grid;grid-template-columns:auto 1fr auto;gap:12px;align-items:center;min-height:44px;margin:0;font-size:15px;overflow-wrap:anywhere}
fieldset input{width:20px;height:20px;accent-color:var(--accent);margin:0}
fieldset span,small,.soft{color:var(--soft);font-size:13px;line-height:20px}
code{font:13px/20px ui-monospace,monospace}
div.buttons{display:flex;gap:12px;flex-wrap:wrap}
button{flex:1 1 160px;min-height:44px;border:1px solid var(--line);border-radius:6px;background:var(--panel);color:var(--ink);font:600 15px/24px system-ui,sans-serif;cursor:pointer}
div.else{margin-top:16px;padding-top:16px;border-top:1px solid var(--line)}
a{color:var(--accent)}
div.else a{flex:1 1 160px;min-height:44px;padding:9px 12px;border:1px solid var(--line);border-radius:6px;background:var(--panel);color:var(--ink);font-weight:600;text-align:center;text-decoration:none;overflow-wrap:anywhere}
button.main{background:var(--accent);border-color:var(--accent);color:var(--on)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.error,.warn{border-left:3px solid var(--warn);padding:8px 12px;background:var(--panel)}
details{margin:0 0 16px}summary{cursor:pointer;font-size:13px;line-height:20px;min-height:24px}
`;
const STYLE_HASH = `'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`;

/**
 * A page.
 * @param formAction where else than to this origin the form may lead, by a redirect: the origin of
 * a redirect URI
 */
export function page(
  status: number,
  title: string,
  content: Html,
  { formAction = "", headers = [] }: { formAction?: string; headers?: readonly string[] } = {},
): BareResponse {
  const policy = [
    "default-src 'none'",
    `style-src ${STYLE_HASH}`,
    `form-action 'self'${formAction === "" ? "" : ` ${formAction}`}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  const text = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} · Portico</title>
<style>${new Html(STYLE)}</style>
</head>
<body><main><p class="brand">Portico</p>
${content}
</main></body>
</html>
`;
  return {
    status,
    body: text.text,
    contentType: "text/html; charset=utf-8",
    headers: [
      ...["Content-Security-Policy", policy, "X-Frame-Options", "DENY", "Cache-Control", "no-store"],
      // Not no-referrer: with it a browser sends `Origin: null` with the form.
      ...["Referrer-Policy", "same-origin", "Cross-Origin-Opener-Policy", "same-origin"],
      ...headers,
    ],
  };
}

/**
 * A page that says why there is no form. Nothing in the request is trusted, so it leads nowhere.
 * @param leads a page of Portico to which it leads none the less
 */
export function errorPage(status: number, words: string, leads?: string): BareResponse {
  const back =
    leads === undefined ? NOTHING : html`\n<div class="buttons else"><a href="${leads}">Back, to try again</a></div>`;
  const content = html`<h1>This is not possible</h1>\n<p class="error" role="alert">${words}</p>${back}`;
  return page(status, "Not possible", content);
}

/** The source expression of a redirect URI in the policy: its origin, or its scheme. */
export function formActionOf(redirectUri: string): string {
  if (!URL.canParse(redirectUri)) return "";
  const { protocol, origin, hostname } = new URL(redirectUri);
  // No source expression can have an IPv6 address (CSP3 §2.3.1).
  const hasOrigin = (protocol === "https:" || protocol === "http:") && !hostname.startsWith("[");
  return hasOrigin ? origin : protocol;
}
