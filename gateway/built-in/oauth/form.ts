/** Forms and queries of OAuth requests, bounded; a parameter is there once (RFC 6749 §3.1). */
import { HttpError } from "../../http/errors.js";
import type { GatewayRequest } from "../../http/message.js";
import { parseQuery } from "../../http/target.js";

/** Maximum bytes of a form. */
const MAX_FORM = 64 * 1024;
const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

/** The parameters of a request. */
export class Parameters {
  readonly #values = new Map<string, string[]>();

  constructor(text: string) {
    for (const [name, value] of parseQuery(text)) {
      const values = this.#values.get(name);
      if (values === undefined) this.#values.set(name, [value]);
      else values.push(value);
    }
  }

  /** The only value of a parameter; "" where it is absent. */
  get(name: string): string {
    return this.#values.get(name)?.[0] ?? "";
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** The name of a parameter that is there several times. @param repeatable those that may be */
  repeated(...repeatable: readonly string[]): string | undefined {
    for (const [name, { length }] of this.#values) if (length > 1 && !repeatable.includes(name)) return name;
    return undefined;
  }

  /** The words of a parameter that is a list with spaces between. */
  words(name: string): string[] {
    return [...new Set(this.get(name).split(" ").filter(Boolean))];
  }
}

/**
 * Receives a form.
 * @throws {HttpError} (rejects) 415 another content type, 413, 400
 */
export async function readForm(request: GatewayRequest): Promise<Parameters> {
  if (!FORM_TYPE.test(request.headers.contentType ?? "")) {
    throw new HttpError(415, "The body must be a form: Content-Type: application/x-www-form-urlencoded");
  }
  const body = await request.body(MAX_FORM);
  return new Parameters(Buffer.concat(body).toString("latin1"));
}
