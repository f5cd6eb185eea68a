/** Redirect URIs of OAuth clients (RFC 6749 §3.1.2, RFC 8252, RFC 9700 §2.1). */

/** Maximum characters of a redirect URI. */
const MAX_REDIRECT_URI = 1_000;
/** The reversed domain name of a private-use scheme (RFC 8252 §7.1). */
const PRIVATE_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);
/** What `new URL` would change or drop silently. */
const UNSAFE = /[^\x21-\x7e]|[\\<>"`{}|^]/;

/**
 * Why a client cannot register the redirect URI; undefined if it can. It is https, http of a
 * loopback address, or a scheme that is a reversed domain name of the client.
 */
export function redirectUriProblem(text: string): string | undefined {
  if (text.length > MAX_REDIRECT_URI) return `is longer than ${MAX_REDIRECT_URI} characters`;
  if (UNSAFE.test(text) || !URL.canParse(text)) return "is no absolute URI";
  const { protocol, hostname, hash, username, password } = new URL(text);
  if (text.includes("#") || hash !== "") return "must have no fragment";
  if (username !== "" || password !== "") return "must have no user and password";
  if (protocol === "https:" || PRIVATE_SCHEME.test(protocol)) return undefined;
  if (protocol === "http:" && LOOPBACK_HOSTS.has(hostname)) return undefined;
  return "must be https, http of a loopback address, or a scheme such as com.example.app";
}

/** Whether the redirect URI leads to a program on the person's own computer. */
export function isLoopbackRedirect(uri: string): boolean {
  return URL.canParse(uri) && new URL(uri).protocol === "http:" && LOOPBACK_HOSTS.has(new URL(uri).hostname);
}

/**
 * Whether a request may use the redirect URI. They are compared as text, except for the port of a
 * loopback address, which the program chooses when it runs (RFC 8252 §7.3).
 */
export function isRegistered(registered: readonly string[], uri: string): boolean {
  if (redirectUriProblem(uri) !== undefined) return false;
  if (registered.includes(uri)) return true;
  if (!isLoopbackRedirect(uri)) return false;
  return registered.some((one) => isLoopbackRedirect(one) && withoutPort(one) === withoutPort(uri));
}

function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:\[[^\]]*\]|[^/:?]*))(?::\d*)?/, "$1");
}
