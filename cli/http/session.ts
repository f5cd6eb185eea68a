/**
 * Whose token the calls of a command go with: the one given by PORTICO_TOKEN, else the login kept in the profile.
 * An access token lives for an hour; a login renews it by itself for 30 days.
 */
import { CommandError, EXIT } from "../terminal/exit.js";
import { type Answer, jsonOf, type Request, send } from "./http.js";
import type { Login, Profile, ProfileData } from "./profile.js";

/** Answer of the authority's `Login` and `Refresh`. */
interface Tokens {
  readonly accessToken: string;
  readonly accessExpires: string;
  readonly refreshToken: string;
  readonly namespace: string;
  readonly account: string;
}

export interface Session {
  /** The token to call with, good for a minute more as far as this clock tells; undefined when not logged in. */
  token(): Promise<string | undefined>;

  /**
   * Refuses a token that is not good, before a call on which it would count as nobody's.
   * @throws {CommandError} with exit 4.
   */
  check(): Promise<void>;

  /**
   * A token in place of one that was answered 401; undefined when that one is good, and so the rules refused.
   * @throws {CommandError} with exit 4 when there is no better one.
   */
  renew(refused: string): Promise<string | undefined>;
}

/** Less than the 15 s after which another process takes the refresh token for abandoned. */
const TIMEOUT_MS = 10_000;
const MARGIN_MS = 60_000;

export class GivenToken implements Session {
  readonly #base: URL;
  readonly #token: string;

  constructor(base: URL, token: string) {
    this.#base = base;
    this.#token = token;
  }

  async token(): Promise<string> {
    return this.#token;
  }

  async check(): Promise<void> {
    if (await isGood(this.#base, this.#token)) return;
    throw new CommandError("The token in PORTICO_TOKEN is wrong, has expired, or was revoked.", EXIT.login);
  }

  async renew(): Promise<undefined> {
    await this.check();
  }
}

/** A token that is taken as it is, or none. */
export class FixedToken implements Session {
  readonly #token: string | undefined;

  constructor(token: string | undefined) {
    this.#token = token;
  }

  async token(): Promise<string | undefined> {
    return this.#token;
  }

  async check(): Promise<void> {}

  async renew(): Promise<undefined> {
    return undefined;
  }
}

export class StoredLogin implements Session {
  readonly #base: URL;
  readonly #profile: Profile;

  constructor(base: URL, profile: Profile) {
    this.#base = base;
    this.#profile = profile;
  }

  async token(): Promise<string | undefined> {
    const login = this.#login(this.#profile.read());
    if (login === undefined) return undefined;
    return isFresh(login) ? login.token : this.#refresh(login.token);
  }

  /** It has been renewed by `token`, as far as this clock tells; a rule that grants to everyone grants all the same. */
  async check(): Promise<void> {}

  async renew(refused: string): Promise<string | undefined> {
    return (await isGood(this.#base, refused)) ? undefined : this.#refresh(refused);
  }

  /** @throws {CommandError} when the account or the password is wrong. */
  async login(
    credentials: { account: string; password: string; namespace: string },
    signal: AbortSignal,
  ): Promise<ProfileData> {
    const answer = await post(this.#base, "/auth/login", { body: JSON.stringify(credentials), signal });
    const tokens: Tokens = JSON.parse(jsonOf(answer));
    (await this.#profile.take())?.drop();
    const data = this.#keep(tokens);
    this.#profile.writeRefreshToken(tokens.refreshToken);
    return data;
  }

  /** Revokes the login's tokens and forgets them, also when they cannot be revoked. False when there was no login. */
  async logout(): Promise<boolean> {
    const data = this.#profile.read();
    if (data === undefined || this.#login(data) === undefined) return false;
    try {
      const answer = await post(this.#base, "/v1/auth/Logout", { token: await this.token() });
      if (answer.status !== 401) jsonOf(answer); // 401: it was no longer good anyway
    } finally {
      (await this.#profile.take())?.drop();
      this.#profile.write(loggedOut(data));
    }
    return true;
  }

  /** Trades the refresh token for new tokens, unless another process has done so meanwhile. */
  async #refresh(stale: string): Promise<string> {
    const taken = await this.#profile.take();
    if (taken === undefined) throw ended();
    try {
      const data = this.#profile.read();
      const login = this.#login(data);
      if (data === undefined || login === undefined) throw ended();
      if (login.token !== stale) return login.token;
      // No Ctrl-C here: the answer holds the only copy of the next refresh token.
      const answer = await post(this.#base, "/auth/Auth/Refresh", {
        body: JSON.stringify({ refreshToken: taken.token }),
      });
      if (answer.status === 401) {
        this.#profile.write(loggedOut(data));
        throw ended();
      }
      const tokens: Tokens = JSON.parse(jsonOf(answer));
      taken.replace(tokens.refreshToken);
      this.#keep(tokens);
      return tokens.accessToken;
    } finally {
      taken.giveBack();
    }
  }

  #keep({ namespace, account, accessToken, accessExpires }: Tokens): ProfileData {
    const data = { url: this.#base.href, namespace, account, login: { token: accessToken, expires: accessExpires } };
    this.#profile.write(data);
    return data;
  }

  /** The profile's login, if it is one at this address: a token is never shown to another Portico. */
  #login(data: ProfileData | undefined): Login | undefined {
    return data?.url === this.#base.href ? data.login : undefined;
  }
}

/** Whether a token is good for a minute more, as far as this clock tells. */
export function isFresh({ expires }: Login): boolean {
  return Date.parse(expires) - Date.now() > MARGIN_MS;
}

function loggedOut({ url, namespace, account }: ProfileData): ProfileData {
  return { url, namespace, account };
}

function ended(): CommandError {
  return new CommandError("Your login has ended. Log in again: portico login", EXIT.login);
}

async function isGood(base: URL, token: string): Promise<boolean> {
  return (await post(base, "/v1/auth/WhoAmI", { token })).status !== 401;
}

function post(base: URL, path: string, parts: Pick<Request, "token" | "body" | "signal">): Promise<Answer> {
  return send(base, { method: "POST", path, body: "{}", timeoutMs: TIMEOUT_MS, ...parts });
}
