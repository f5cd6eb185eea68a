/**
 * The token that a command's calls carry: the one given by PORTICO_TOKEN, else that of the login kept in the profile.
 * An access token lives for an hour; a login renews it by itself for 30 days.
 */
import type { Tokens } from "../../src/api/types.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Login, Profile, ProfileData } from "./profile.js";
import { type HttpRequest, type HttpResponse, jsonOf, send } from "./request.js";

export interface Session {
  /** The token to call with, valid for a minute more by this machine's clock; undefined when not logged in. */
  token(): Promise<string | undefined>;

  /**
   * Checks the token before a call on which one that is not valid counts as none.
   * @throws {CommandError} with exit 4 when it is not valid.
   */
  check(): Promise<void>;

  /**
   * A token in place of one that was answered 401; undefined when that one is valid, and so the rules refused the call.
   * @throws {CommandError} with exit 4 when there is no other one.
   */
  renew(refused: string): Promise<string | undefined>;
}

/** Less than the 15 s after which another process takes the refresh token as abandoned. */
const TIMEOUT_MS = 10_000;
/** A token that expires sooner is renewed before it is used. */
const MARGIN_MS = 60_000;

/** The token in PORTICO_TOKEN. */
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
    if (await isValid(this.#base, this.#token)) return;
    throw new CommandError("The token in PORTICO_TOKEN is wrong, has expired, or was revoked.", EXIT.login);
  }

  async renew(): Promise<undefined> {
    await this.check();
  }
}

/** A token that is neither checked nor renewed, or none: for completion. */
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

/** The login kept in a profile. */
export class StoredLogin implements Session {
  readonly #base: URL;
  readonly #profile: Profile;
  readonly #loginCommand: string;

  /** @param loginCommand logs in anew, for messages */
  constructor(base: URL, profile: Profile, loginCommand: string) {
    this.#base = base;
    this.#profile = profile;
    this.#loginCommand = loginCommand;
  }

  async token(): Promise<string | undefined> {
    const login = this.#login(this.#profile.read());
    if (login === undefined) return undefined;
    return isFresh(login) ? login.token : this.#refresh(login.token);
  }

  /** Not needed: `token` renews it. Where it was revoked meanwhile, rules that grant to everyone still hold. */
  async check(): Promise<void> {}

  async renew(refused: string): Promise<string | undefined> {
    return (await isValid(this.#base, refused)) ? undefined : this.#refresh(refused);
  }

  /** @throws {CommandError} when the account or the password is wrong. */
  async login(
    credentials: { account: string; password: string; namespace: string },
    signal: AbortSignal,
  ): Promise<ProfileData> {
    const response = await post(this.#base, "/auth/login", { body: JSON.stringify(credentials), signal });
    const tokens: Tokens = JSON.parse(jsonOf(response));
    (await this.#profile.take())?.delete();
    const data = this.#keep(tokens);
    this.#profile.writeRefreshToken(tokens.refreshToken);
    return data;
  }

  /** Revokes the login's tokens and forgets them, also when they cannot be revoked. False when there was no login. */
  async logout(): Promise<boolean> {
    const data = this.#profile.read();
    if (data === undefined || this.#login(data) === undefined) return false;
    try {
      const response = await post(this.#base, "/v1/auth/Logout", { token: await this.token() });
      if (response.status !== 401) jsonOf(response); // 401: it was no longer valid
    } finally {
      (await this.#profile.take())?.delete();
      this.#profile.write(loggedOut(data));
    }
    return true;
  }

  /** Exchanges the refresh token for new tokens, unless another process has done so meanwhile. */
  async #refresh(stale: string): Promise<string> {
    const taken = await this.#profile.take();
    if (taken === undefined) throw this.#ended();
    try {
      const data = this.#profile.read();
      const login = this.#login(data);
      if (data === undefined || login === undefined) throw this.#ended();
      if (login.token !== stale) return login.token;
      // No Ctrl-C here: the answer holds the only copy of the next refresh token.
      const response = await post(this.#base, "/auth/Auth/Refresh", {
        body: JSON.stringify({ refreshToken: taken.token }),
      });
      if (response.status === 401) {
        this.#profile.write(loggedOut(data));
        throw this.#ended();
      }
      const tokens: Tokens = JSON.parse(jsonOf(response));
      taken.replace(tokens.refreshToken);
      this.#keep(tokens);
      return tokens.accessToken;
    } finally {
      taken.release();
    }
  }

  #ended(): CommandError {
    return new CommandError(`Your login has ended. Log in again: ${this.#loginCommand}`, EXIT.login);
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

/** Whether a token is valid for a minute more by this machine's clock. */
export function isFresh({ expires }: Login): boolean {
  return Date.parse(expires) - Date.now() > MARGIN_MS;
}

function loggedOut({ url, namespace, account }: ProfileData): ProfileData {
  return { url, namespace, account };
}

async function isValid(base: URL, token: string): Promise<boolean> {
  return (await post(base, "/v1/auth/WhoAmI", { token })).status !== 401;
}

function post(base: URL, path: string, parts: Pick<HttpRequest, "token" | "body" | "signal">): Promise<HttpResponse> {
  return send(base, { method: "POST", path, body: "{}", timeoutMs: TIMEOUT_MS, ...parts });
}
