/** The query of a request target as pairs of name and value (https://url.spec.whatwg.org/#urlencoded-parsing), strictly. */
import { HttpError } from "./errors.js";

/**
 * Splits `a=1&b=2`.
 * @throws {HttpError} 400 where a percent-encoding is broken or is not UTF-8.
 */
export function parseQuery(query: string): [name: string, value: string][] {
  const parameters: [string, string][] = [];
  for (const piece of query.split("&")) {
    if (piece === "") continue;
    const equals = piece.indexOf("=");
    parameters.push(
      equals < 0 ? [decode(piece), ""] : [decode(piece.slice(0, equals)), decode(piece.slice(equals + 1))],
    );
  }
  return parameters;
}

const NOT_ASCII = /[^\x21-\x7e]/;

function decode(text: string): string {
  try {
    if (!NOT_ASCII.test(text)) return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // Told below.
  }
  throw new HttpError(
    400,
    `The query has a broken percent-encoding, or one that is not UTF-8, in ${JSON.stringify(text.slice(0, 64))}`,
  );
}
