/**
 * Who is signed in. The tokens live in this module's memory and nowhere else: not in the address, not in any storage,
 * not in a cookie. So a reload asks to sign in again, and nothing that reads the disk finds them.
 */
import type { Tokens, WhoAmIResponse } from "../../../src/api/types.js";
import { ApiError, post } from "../http.js";
import { Store, useStore } from "../state/store.js";

export type Session = Pick<WhoAmIResponse, "account" | "namespace" | "scopes">;

export interface Credentials {
  readonly account: string;
  readonly password: string;
  readonly namespace: string;
}

/**
 * Undefined: nobody is signed in. A session that has ended stays here until somebody signs in or signs out, so that the
 * page keeps what was typed; there is no token to call with then.
 */
export const session = new Store<Session | undefined>(undefined);
/** Why the session has ended, where the person did not end it; set again each time a token is asked for. */
export const ended = new Store<string | undefined>(undefined);

let tokens: Tokens | undefined;
let refreshing: Promise<string | undefined> | undefined;

/** How long before its expiry an access token is replaced, in milliseconds. */
const BEFORE_EXPIRY = 60_000;

export function isAdmin({ scopes }: Session): boolean {
  return scopes.includes("admin");
}

export function useSession(): Session | undefined {
  return useStore(session);
}

/** @throws {ApiError} */
export async function signIn(credentials: Credentials): Promise<void> {
  const fresh = await post<Tokens>("/auth/Auth/Login", credentials);
  const token = fresh.accessToken;
  const { account, namespace, scopes } = await post<WhoAmIResponse>("/v1/auth/Auth/WhoAmI", {}, { token });
  tokens = fresh;
  ended.set(undefined);
  const next = { account, namespace, scopes };
  // Whoever goes on with a session that had ended finds the page as it was. Anybody else gets another one.
  if (!isSame(session.value, next)) session.set(next);
}

function isSame(one: Session | undefined, other: Session): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Revokes the tokens. They are forgotten here at once, whatever the answer. */
export async function signOut(): Promise<void> {
  const token = tokens?.accessToken;
  forget();
  if (token !== undefined) await post("/v1/auth/Auth/Logout", {}, { token });
}

/** A token to call with now; undefined when nobody is signed in, or who was is not any more. */
export async function accessToken(): Promise<string | undefined> {
  if (tokens === undefined && session.value !== undefined) ended.set(ended.value);
  if (tokens === undefined || Date.parse(tokens.accessExpires) - Date.now() >= BEFORE_EXPIRY) {
    return tokens?.accessToken;
  }
  // A refresh token is good once: whoever comes meanwhile waits for the same answer.
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
    // Anything else may pass: the token that is still there may do, and the next call tries again.
    if (status === 401 || status === 403) why = "Your session has ended. Sign in again to go on.";
  }
  // Somebody else may have signed in meanwhile.
  if (tokens !== old) return undefined;
  refreshing = undefined;
  if (why !== undefined) end(why);
  else tokens = fresh;
  return tokens?.accessToken;
}

/** Called when a call with the session's own token was refused as unauthenticated. */
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
