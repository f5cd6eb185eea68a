/** The target of a request (RFC 9112 §3.2): its path and its query. */
import { withoutTokens } from "../../src/call/token.js";
import { HttpError } from "./errors.js";

/**
 * The absolute form, which every server must accept. Its host repeats the header Host (RFC 9112
 * §3.2.2).
 */
const ABSOLUTE = /^https?:\/\/[^/?#]+(?=[/?])/i;

/** The path of a request target, as sent. */
export function pathOf(target: string): string {
  const origin = target.startsWith("/") ? target : target.replace(ABSOLUTE, "");
  const question = origin.indexOf("?");
  return question < 0 ? origin : origin.slice(0, question);
}

/** The query of a request target, as sent, without the `?`; "" for none. */
export function queryOf(target: string): string {
  const question = target.indexOf("?");
  return question < 0 ? "" : target.slice(question + 1);
}

/** Maximum characters of a path that are logged and repeated in errors. */
const MAX_SHOWN_PATH = 128;

/**
 * A path for logs and errors: shortened, and without tokens that were pasted into it by mistake.
 */
export function printablePath(path: string): string {
  return withoutTokens(path.slice(0, MAX_SHOWN_PATH));
}

/**
 * Splits the query `a=1&b=2` into its parameters (https://url.spec.whatwg.org/#urlencoded-parsing),
 * strictly.
 * @throws {HttpError} 400 where a percent-encoding is malformed or is not UTF-8
 */
export function parseQuery(query: string): [name: string, value: string][] {
  const parameters: [string, string][] = [];
  for (const parameter of query.split("&")) {
    if (parameter === "") continue;
    const equals = parameter.indexOf("=");
    const name = equals < 0 ? parameter : parameter.slice(0, equals);
    parameters.push([decode(name), equals < 0 ? "" : decode(parameter.slice(equals + 1))]);
  }
  return parameters;
}

const NOT_ASCII = /[^\x21-\x7e]/;

function decode(text: string): string {
  try {
    if (!NOT_ASCII.test(text)) return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // Rejected below.
  }
  throw new HttpError(
    400,
    `A parameter has a broken percent-encoding, or one that is not UTF-8: ${JSON.stringify(text.slice(0, 64))}`,
  );
}
