/** The token of a client's calls: a text, or a function that gives one when it is needed. */
import { PorticoError } from "./error.js";
import { LIMITS } from "./lines.js";
import type { PorticoOptions, TokenFunction } from "./options.js";
import type { CallScope } from "./scope.js";

/** What a token function gave: a token, or the error that it threw. */
type Given = { readonly token: unknown } | { readonly error: unknown };

export class TokenSource {
  readonly #give: TokenFunction | undefined;
  #token: string | undefined;
  /** The running call of the function. All calls of the client wait for it together. */
  #asked: Promise<Given> | undefined;

  constructor(given: PorticoOptions["token"]) {
    if (typeof given === "function") this.#give = given;
    else this.#token = given || undefined;
  }

  /**
   * The token as it was given last.
   * @throws {PorticoError} 401 when the function fails, 504 when it gives none in time
   */
  async get(scope: CallScope): Promise<string | undefined> {
    if (this.#give === undefined || this.#token !== undefined) return this.#token;
    return this.#ask(scope, this.#give, undefined);
  }

  /**
   * Another token, after `refused` was refused with 401. Undefined if there is no other.
   * @throws {PorticoError} as `get`
   */
  async renew(scope: CallScope, refused: string | undefined): Promise<string | undefined> {
    if (this.#give === undefined) return undefined;
    // Another call may have renewed it in the meantime.
    if (this.#token === refused) this.#token = undefined;
    const token = this.#token ?? (await this.#ask(scope, this.#give, refused));
    return token === refused ? undefined : token;
  }

  async #ask(scope: CallScope, give: TokenFunction, refused: string | undefined): Promise<string | undefined> {
    this.#asked ??= resultOf(give, refused);
    const asked = this.#asked;
    try {
      const given = await scope.within(asked, LIMITS.maxTokenMs);
      if ("error" in given) throw failure(scope, 401, "Unauthorized", `failed: ${textOf(given.error)}`, given.error);
      if (given.token !== undefined && typeof given.token !== "string")
        throw failure(scope, 401, "Unauthorized", `gave no text, but ${typeof given.token}`);
      this.#token = given.token || undefined;
      return this.#token;
    } catch (error) {
      const isLate = error instanceof PorticoError && error.Code !== 401;
      throw isLate ? failure(scope, 504, "Gateway Timeout", "gave no token in time") : error;
    } finally {
      // The next call asks again, also if this one has waited in vain.
      if (this.#asked === asked) this.#asked = undefined;
    }
  }
}

async function resultOf(give: TokenFunction, refused: string | undefined): Promise<Given> {
  try {
    return { token: await give({ refused }) };
  } catch (error) {
    return { error };
  }
}

function failure({ service }: CallScope, Code: number, Status: string, what: string, cause?: unknown): PorticoError {
  return new PorticoError({ Id: service, Code, Detail: `The token function ${what}`, Status }, { cause });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
