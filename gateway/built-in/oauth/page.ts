/**
 * The pages of sign-in and consent: plain HTML with forms, without a script. No other page may
 * frame them, so nobody can be made to click in one unseen (RFC 9700 §4.16).
 */
import { createHash } from "node:crypto";
import type { BareResponse } from "../../http/message.js";
import { FONT_PATH, ICON_PATH } from "../pages.js";

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

/** The colours, the font and the sizes of the console: gateway/web/styles. */
const STYLE = `
@font-face{font-family:"Public Sans";src:url(${FONT_PATH}) format("woff2");font-weight:400 700;font-display:swap}
:root{color-scheme:light dark;--page:light-dark(#faf9f6,#141413);--surface:light-dark(#fff,#1c1c1a);--hover:light-dark(#f0ede7,#262623);--ink:light-dark(#1d1b17,#eceae4);--soft:light-dark(#5f5a50,#aaa69b);--line:light-dark(#e5e1d8,#31302c);--edge:light-dark(#8c867a,#7b776c);--accent:light-dark(#0b5a9c,#7db8ee);--on:light-dark(#fff,#0d1b28);--warning:light-dark(#85500a,#e5b567);--warning-wash:light-dark(#fbf0dc,#31250f);--bad:light-dark(#b0261d,#f5958c);--bad-wash:light-dark(#fcebe9,#391815);--sans:"Public Sans",-apple-system,"Segoe UI",Roboto,sans-serif;--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/24px var(--sans)}
main{max-width:480px;margin:0 auto;padding:32px 16px 48px}
p.brand{display:flex;align-items:center;gap:8px;font-weight:600;margin:0 0 32px}
h1{font-size:28px;line-height:34px;font-weight:600;letter-spacing:-.01em;margin:0 0 16px;overflow-wrap:anywhere}
legend{font-weight:600;padding:0 4px;margin-left:-4px}
p{margin:0 0 16px;overflow-wrap:anywhere}
form{margin:24px 0 0}form+p{margin-top:16px}
label{display:block;margin:0 0 16px;font-size:13px;line-height:20px;font-weight:550}
input[type=text],input[type=password],select{display:block;width:100%;height:44px;margin-top:4px;padding:0 12px;border:1px solid var(--edge);border-radius:6px;background:var(--surface);color:var(--ink);font:15px/24px var(--sans)}
fieldset{border:1px solid var(--line);border-radius:10px;padding:12px 16px;margin:0 0 24px;background:var(--surface)}
fieldset label{display:grid;grid-template-columns:auto 1fr auto;gap:12px;align-items:center;min-height:44px;margin:0;font-size:15px;font-weight:400;overflow-wrap:anywhere}
fieldset input{width:20px;height:20px;accent-color:var(--accent);margin:0}
fieldset span,.soft{color:var(--soft);font-size:13px;line-height:20px}
code{font:13px/20px var(--mono)}
div.buttons{display:flex;gap:12px;flex-wrap:wrap}
div.else{margin-top:16px;padding-top:16px;border-top:1px solid var(--line)}
button,div.else a{flex:1 1 160px;min-height:44px;padding:9px 12px;border:1px solid var(--edge);border-radius:6px;background:var(--surface);color:var(--ink);font:550 15px/24px var(--sans);text-align:center;text-decoration:none;overflow-wrap:anywhere;cursor:pointer}
button:hover,div.else a:hover{background:var(--hover)}
button.main,button.main:hover{background:var(--accent);border-color:var(--accent);color:var(--on)}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.error,.warn{border-left:3px solid var(--warning);border-radius:6px;padding:12px 16px;background:var(--warning-wash)}
.error{border-color:var(--bad);background:var(--bad-wash)}
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
    "font-src 'self'",
    "img-src 'self'",
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
<body><main><p class="brand"><img src="${ICON_PATH}" alt="" width="24" height="24">Portico</p>
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
 * A page that says why there is no form. It links to nothing that the request names.
 * @param leads the page of Portico that it links to; undefined for none
 */
export function errorPage(status: number, words: string, leads?: string): BareResponse {
  const back =
    leads === undefined ? NOTHING : html`\n<div class="buttons else"><a href="${leads}">Back, to try again</a></div>`;
  const content = html`<h1>This is not possible</h1>\n<p class="error" role="alert">${words}</p>${back}`;
  return page(status, "Not possible", content);
}

/** 303, so that no browser sends the form again (RFC 9700 §4.12). */
export function redirect(location: string, headers: readonly string[] = []): BareResponse {
  return { status: 303, body: "", headers: ["Location", location, "Referrer-Policy", "no-referrer", ...headers] };
}

/** The source expression of a redirect URI in the policy: its origin, or its scheme. */
export function formActionOf(redirectUri: string): string {
  if (!URL.canParse(redirectUri)) return "";
  const { protocol, origin, hostname } = new URL(redirectUri);
  // No source expression can have an IPv6 address or another character (CSP3 §2.3.1).
  const hasOrigin = (protocol === "https:" || protocol === "http:") && /^[a-z0-9.-]+$/.test(hostname);
  return hasOrigin ? origin : protocol;
}
