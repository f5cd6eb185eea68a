/**
 * The session: which account is signed in, and its tokens. The tokens are only in the memory of
 * this module, not in the address, a storage or a cookie. So a visitor must sign in again after a
 * reload, and no token is on the disk.
 */
import type { Tokens, WhoAmIResponse } from "../../../src/api/types.js";
import { ApiError, gatewayTime, post } from "../http.js";
import { Store, useStore } from "../state/store.js";

export type Session = Pick<WhoAmIResponse, "account" | "namespace" | "scopes">;

export interface Credentials {
  readonly account: string;
  readonly password: string;
  readonly namespace: string;
}

/**
 * Undefined while no account is signed in. A session that has ended stays here without a token
 * until the visitor signs in or out, so that the page keeps the text that was typed.
 */
export const session = new Store<Session | undefined>(undefined);
/**
 * Why the session has ended, unless the visitor signed out. It is set again each time a token is
 * needed, so that the sign-in dialog opens again.
 */
export const ended = new Store<string | undefined>(undefined);

let tokens: Tokens | undefined;
let refreshing: Promise<string | undefined> | undefined;

/** How long before its expiry an access token is replaced, in milliseconds. */
const REFRESH_MARGIN_MS = 60_000;

/** A part of administration; each has a scope, such as `admin:rules`. */
export type Part = "rules" | "accounts" | "keys" | "audit";

/** Whether an account administers a part, or everything. */
export function administers({ scopes }: Session, part: Part): boolean {
  return scopes.includes("admin") || scopes.includes(`admin:${part}`);
}

export function isAdmin({ scopes }: Session): boolean {
  return scopes.includes("admin");
}

export function useSession(): Session | undefined {
  return useStore(session);
}

/** Signs in with a password. @throws {ApiError} */
export async function signIn(credentials: Credentials): Promise<void> {
  const fresh = await post<Tokens>("/auth/Auth/Login", credentials);
  const token = fresh.accessToken;
  const { account, namespace, scopes } = await post<WhoAmIResponse>("/v1/auth/Auth/WhoAmI", {}, { token });
  tokens = fresh;
  ended.set(undefined);
  const next = { account, namespace, scopes };
  // If the account and namespace are the same as before, the page stays as it is. Otherwise it is
  // drawn again.
  if (!isSame(session.value, next)) session.set(next);
}

/** Whether both are sessions of one account, whatever its scopes are. */
export function isSameAccount(one: Session, other: Session | undefined): boolean {
  return one.account === other?.account && one.namespace === other.namespace;
}

function isSame(one: Session | undefined, other: Session): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Forgets the tokens at once, and then revokes them. @throws {ApiError} when they could not be
 * revoked
 */
export async function signOut(): Promise<void> {
  const token = tokens?.accessToken;
  forget();
  if (token !== undefined) await post("/v1/auth/Auth/Logout", {}, { token });
}

/**
 * The access token, refreshed if it is about to expire. Undefined when no account is signed in, or
 * the session has ended.
 */
export async function accessToken(): Promise<string | undefined> {
  if (tokens === undefined && session.value !== undefined) ended.set(ended.value);
  if (tokens === undefined || Date.parse(tokens.accessExpires) - gatewayTime() >= REFRESH_MARGIN_MS) {
    return tokens?.accessToken;
  }
  // A refresh token can be used once, so concurrent calls wait for the same refresh.
  refreshing ??= refresh(tokens);
  return refreshing;
}

async function refresh(old: Tokens): Promise<string | undefined> {
  let fresh = old;
  let why: string | undefined;
  try {
    fresh = await post<Tokens>("/auth/Auth/Refresh", { refreshToken: old.refreshToken });
  } catch (thrown) {
    const { status } = ApiError.from(thrown);
    // Any other failure may be temporary: the old token may still be valid, and the next call tries
    // again.
    if (status === 401 || status === 403) why = "Your session has ended. Sign in again to go on.";
  }
  // Another account may have signed in meanwhile.
  if (tokens !== old) return undefined;
  refreshing = undefined;
  if (why !== undefined) end(why);
  else tokens = fresh;
  return tokens?.accessToken;
}

/**
 * Asks the authority whether the token is still valid, and ends the session if it is not. Used for
 * calls that were refused with 401.
 */
export async function checkSession(): Promise<void> {
  const token = tokens?.accessToken;
  if (token === undefined) return;
  try {
    await post("/v1/auth/Auth/WhoAmI", {}, { token });
  } catch (thrown) {
    const isSame = token === tokens?.accessToken;
    if (isSame && ApiError.from(thrown).status === 401) end("Your session was ended. Sign in again to go on.");
  }
}

function end(why: string): void {
  tokens = undefined;
  refreshing = undefined;
  ended.set(why);
}

function forget(): void {
  tokens = undefined;
  refreshing = undefined;
  ended.set(undefined);
  session.set(undefined);
}
