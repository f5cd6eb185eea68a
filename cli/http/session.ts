/**
 * The token of a command's calls: the one in PORTICO_TOKEN, otherwise the one of the login in the
 * profile. An access token is valid for an hour. A login renews it by itself for 30 days.
 */
import { readError } from "../../src/api/errors.js";
import type { Tokens, WhoAmIResponse } from "../../src/api/types.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { GrantedTokens } from "./oauth-login.js";
import type { Login, Profile, ProfileData } from "./profile.js";
import { type HttpRequest, type HttpResponse, jsonOf, send } from "./request.js";

export interface Session {
  /**
   * The token for the next call. It is valid for at least one more minute by this computer's clock.
   * Undefined when not logged in.
   */
  token(): Promise<string | undefined>;

  /**
   * Checks the token before a call in which an invalid token would be ignored.
   * @throws {CommandError} with exit code 4 when it is not valid.
   */
  check(): Promise<void>;

  /**
   * A token to replace one that was refused with 401. Undefined when that token is valid: then the
   * rules refused the call.
   * @throws {CommandError} with exit code 4 when there is no other token.
   */
  renew(refused: string): Promise<string | undefined>;
}

/** Less than 15 s, because then another process treats the refresh token as abandoned. */
const TIMEOUT_MS = 10_000;
/** A token that expires in less than this time is renewed before it is used. */
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
    const refused = await refusalOf(this.#base, this.#token);
    if (refused === undefined) return;
    const why = refused === "" ? "is wrong, has expired, or was revoked." : `is refused: ${refused}`;
    throw new CommandError(`The token in PORTICO_TOKEN ${why}`, EXIT.login);
  }

  async renew(): Promise<undefined> {
    await this.check();
  }
}

/** A fixed token that is neither checked nor renewed, or no token: for completion. */
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

type Kept = Pick<Tokens, "namespace" | "account" | "accessToken" | "accessExpires">;

/** The login that is stored in a profile. */
export class StoredLogin implements Session {
  readonly base: URL;
  readonly #profile: Profile;
  readonly #loginCommand: string;

  /** @param loginCommand the command that logs in again, for error texts */
  constructor(base: URL, profile: Profile, loginCommand: string) {
    this.base = base;
    this.#profile = profile;
    this.#loginCommand = loginCommand;
  }

  async token(): Promise<string | undefined> {
    const login = this.#login(this.#profile.read());
    if (login === undefined) return undefined;
    return isFresh(login) ? login.token : this.#refresh(login.token);
  }

  /**
   * Not needed, because `token` renews the token. If the login was revoked, rules that grant to all
   * callers still apply.
   */
  async check(): Promise<void> {}

  async renew(refused: string): Promise<string | undefined> {
    return (await isValid(this.base, refused)) ? undefined : this.#refresh(refused);
  }

  /** @throws {CommandError} when the account or the password is wrong. */
  async login(
    credentials: { account: string; password: string; namespace: string },
    signal: AbortSignal,
  ): Promise<ProfileData> {
    const response = await post(this.base, "/auth/login", { body: JSON.stringify(credentials), signal });
    const tokens: Tokens = JSON.parse(jsonOf(response));
    (await this.#profile.take())?.delete();
    const data = this.#keep(tokens);
    this.#profile.writeRefreshToken(tokens.refreshToken);
    return data;
  }

  /**
   * Keeps the tokens of a grant to the command line.
   * @throws {CommandError} when the gateway does not know them
   */
  async keepGranted({ access_token, refresh_token }: GrantedTokens, by: ProfileData["by"]): Promise<ProfileData> {
    const who = JSON.parse(jsonOf(await post(this.base, "/v1/auth/WhoAmI", { token: access_token })));
    (await this.#profile.take())?.delete();
    const { namespace, account, expires: accessExpires } = who as WhoAmIResponse;
    const data = this.#keep({ namespace, account, accessToken: access_token, accessExpires }, by);
    this.#profile.writeRefreshToken(refresh_token);
    return data;
  }

  /**
   * Revokes the login's tokens, and deletes them even if they cannot be revoked. Returns false when
   * there was no login. @param everywhere also ends every other login of the account
   */
  async logout(everywhere: boolean): Promise<boolean> {
    const data = this.#profile.read();
    if (data === undefined || this.#login(data) === undefined) return false;
    try {
      const body = JSON.stringify({ everywhere });
      const response = await post(this.base, "/v1/auth/Logout", { token: await this.token(), body });
      // 401: this login was not valid any more. The others may be.
      if (response.status !== 401 || everywhere) jsonOf(response);
    } finally {
      (await this.#profile.take())?.delete();
      this.#profile.write(loggedOut(data));
    }
    return true;
  }

  /**
   * Exchanges the refresh token for new tokens, unless another process has done so in the meantime.
   */
  async #refresh(stale: string): Promise<string> {
    const taken = await this.#profile.take();
    if (taken === undefined) throw this.#ended();
    try {
      const data = this.#profile.read();
      const login = this.#login(data);
      if (data === undefined || login === undefined) throw this.#ended();
      if (login.token !== stale) return login.token;
      // Ctrl-C must not end this request: its response contains the only copy of the next refresh
      // token.
      const response = await post(this.base, "/auth/Auth/Refresh", {
        body: JSON.stringify({ refreshToken: taken.token }),
      });
      if (response.status === 401) {
        this.#profile.write(loggedOut(data));
        throw this.#ended();
      }
      const tokens: Tokens = JSON.parse(jsonOf(response));
      taken.replace(tokens.refreshToken);
      this.#keep(tokens, data.by);
      return tokens.accessToken;
    } finally {
      taken.release();
    }
  }

  #ended(): CommandError {
    return new CommandError(`Your login has ended. Log in again: ${this.#loginCommand}`, EXIT.login);
  }

  #keep({ namespace, account, accessToken, accessExpires }: Kept, by?: ProfileData["by"]): ProfileData {
    const login = { token: accessToken, expires: accessExpires };
    const data = { url: this.base.href, namespace, account, by, login };
    this.#profile.write(data);
    return data;
  }

  /** The profile's login, if it is for this address. A token is never sent to another Portico. */
  #login(data: ProfileData | undefined): Login | undefined {
    return data?.url === this.base.href ? data.login : undefined;
  }
}

/** Whether a token is valid for at least one more minute by this computer's clock. */
export function isFresh({ expires }: Login): boolean {
  return Date.parse(expires) - Date.now() > MARGIN_MS;
}

function loggedOut({ login: _, ...data }: ProfileData): ProfileData {
  return data;
}

async function isValid(base: URL, token: string): Promise<boolean> {
  return (await refusalOf(base, token)) === undefined;
}

/** Why a token is refused; empty where the gateway does not say, undefined if it is not refused. */
async function refusalOf(base: URL, token: string): Promise<string | undefined> {
  const { status, body } = await post(base, "/v1/auth/WhoAmI", { token });
  if (status !== 401) return undefined;
  return /^Unauthorized call made to \S+: (.*)$/.exec(readError(body)?.Detail ?? "")?.[1] ?? "";
}

function post(base: URL, path: string, parts: Pick<HttpRequest, "token" | "body" | "signal">): Promise<HttpResponse> {
  return send(base, { method: "POST", path, body: "{}", timeoutMs: TIMEOUT_MS, ...parts });
}
