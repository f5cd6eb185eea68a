/** What a visitor pastes to learn why a call was refused: a request ID, a key, or a response. */

/** What is asked about. */
export type Pasted =
  | { readonly requestId: string }
  | { readonly key: string }
  | { readonly service: string; readonly endpoint: string }
  | { readonly problem: string };

/** A whole token: prefix, random part and checksum. */
const TOKEN = /pt([aekr])_[0-9A-Za-z]{49}/g;
const PREFIX_LENGTH = 10;
const PREFIX = /^ptk_[0-9A-Za-z]{6}$/;
/** As gateways accept the header X-Request-Id. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** In the headers of a response, or in what the command line prints. */
const NAMED_ID = /(?:x-request-id["']?\s*[:=]\s*["']?|HTTP \d{3}, request )([A-Za-z0-9._-]+)/i;
const ENDPOINT = /call made to ([a-z][a-z0-9-]*):([\w.]+\w)/;

/** Maximum characters of what is read. A response to a refused call is far shorter. */
export const MAX_PASTED = 64 * 1024;

/** The text with each whole token cut to its prefix: no token leaves the browser this way. */
export function withoutWholeTokens(text: string): string {
  return text.replace(TOKEN, (token) => token.slice(0, PREFIX_LENGTH));
}

/** @param text without whole tokens */
export function readPasted(text: string): Pasted {
  if (text.length > MAX_PASTED) {
    return { problem: "This is too long for an answer about a refused call. Paste the value of its X-Request-Id." };
  }
  const trimmed = text.trim();
  if (PREFIX.test(trimmed)) return { key: trimmed };
  if (/^pt[aer]_/.test(trimmed)) {
    return { problem: "This is a token, but not an API key: only keys (ptk_…) can be looked up. Paste a request ID." };
  }
  const named = NAMED_ID.exec(trimmed)?.[1];
  if (named !== undefined) return { requestId: named };
  const [, service, endpoint] = ENDPOINT.exec(trimmed) ?? [];
  if (service !== undefined && endpoint !== undefined) return { service, endpoint };
  if (/^[{[]/.test(trimmed)) {
    return {
      problem:
        "This answer does not say which call was refused. Paste the value of its header X-Request-Id, or an answer with the status 401 or 403.",
    };
  }
  if (REQUEST_ID.test(trimmed)) return { requestId: trimmed };
  return { problem: "This is no request ID, no API key and no answer of Portico. Paste one of the three." };
}
