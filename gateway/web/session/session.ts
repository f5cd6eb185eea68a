/**
 * The session: which account is signed in, and its tokens. The tokens are only in the memory of
 * this module, not in the address, a storage or a cookie. After a reload and in a new tab the page
 * gets another one by the session that the tabs share (shared-session.ts). Where the browser cannot
 * have one, the page logs in for itself, and the visitor signs in again after a reload.
 */
import type { Tokens, WhoAmIResponse } from "../../../src/api/types.js";
import { ApiError, gatewayTime, post } from "../http.js";
import { replaceAddress } from "../state/router.js";
import { Store, useStore } from "../state/store.js";
import * as shared from "./shared-session.js";

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

/** Why nobody is signed in although the person has just come back from an issuer. */
export const notArrived = new Store<ApiError | undefined>(undefined);

/** Counts how often another tab has signed in for this one. */
export const signedInElsewhere = new Store(0);

/** Without a refresh token, the tabs' session has the next one. */
type Held = Pick<Tokens, "accessToken" | "accessExpires"> & Partial<Pick<Tokens, "refreshToken">>;

let tokens: Held | undefined;
let refreshing: Promise<string | undefined> | undefined;

/** How long before its expiry an access token is replaced, in milliseconds. */
const REFRESH_MARGIN_MS = 60_000;

/** A part of administration; each has a scope, such as `admin:rules`. */
export type Part = "rules" | "accounts" | "keys" | "audit";

/** Whether an account administers a part, or everything. */
export function administers({ scopes }: Session, part: Part): boolean {
  return scopes.includes("admin") || scopes.includes(`admin:${part}`);
}

/** Whether an account administers rules and limits of some resources, by a scope with a pattern. */
export function administersSome({ scopes }: Session): boolean {
  return scopes.some((scope) => scope.startsWith("admin:on:"));
}

export function isAdmin({ scopes }: Session): boolean {
  return scopes.includes("admin");
}

export function useSession(): Session | undefined {
  return useStore(session);
}

/** Signs in with a password. @throws {ApiError} */
export async function signIn(credentials: Credentials): Promise<void> {
  if (!shared.canShare()) return enter(await logIn(credentials));
  try {
    enter(await shared.start(credentials));
  } catch (thrown) {
    // A browser may not say that the page is the gateway's own, and a gateway may know no sessions.
    if (![403, 404].includes(ApiError.from(thrown).status)) throw thrown;
    enter(await logIn(credentials));
  }
}

async function logIn(credentials: Credentials): Promise<Held & Session> {
  const { accessToken, accessExpires, refreshToken } = await post<Tokens>("/auth/Auth/Login", credentials);
  const { account, namespace, scopes } = await post<WhoAmIResponse>("/v1/auth/Auth/WhoAmI", {}, { token: accessToken });
  return { accessToken, accessExpires, refreshToken, account, namespace, scopes };
}

function enter({ account, namespace, scopes, ...held }: Held & Session): void {
  tokens = held;
  ended.set(undefined);
  notArrived.set(undefined);
  const next = { account, namespace, scopes };
  // If the account and namespace are the same as before, the page stays as it is. Otherwise it is
  // drawn again.
  if (!isSame(session.value, next)) session.set(next);
}

/** How long the first page waits for the session of the tabs, in milliseconds. */
const RESTORE_MS = 5_000;
/** To which people come back from an issuer (gateway/built-in/oauth/issuer-pages.ts). */
const BACK = "/console/back";

/**
 * Must be called before anything is drawn: signs in by the session of the tabs, if there is one,
 * and follows the other tabs.
 */
export async function restore(): Promise<void> {
  if (!shared.canShare()) return;
  const arriving = location.pathname === BACK ? comeBack(await shared.takeLeft()) : undefined;
  shared.followTabs((signedIn) => {
    if (!signedIn && tokens?.refreshToken === undefined) leave();
    if (signedIn && tokens === undefined) void resume().then(() => signedInElsewhere.set(signedInElsewhere.value + 1));
  });
  if (arriving === undefined && !shared.isMarked()) return;
  await Promise.race([arriving ?? resume(), new Promise((resolve) => setTimeout(resolve, RESTORE_MS))]);
}

/** The person is back from an issuer: shows where the person was, and signs in. */
async function comeBack(left: shared.Left | undefined): Promise<void> {
  replaceAddress(left?.address ?? "/console");
  try {
    if (left === undefined) throw new ApiError(401, "You have not been signed in; sign in again");
    enter(await shared.arrive(left));
  } catch (thrown) {
    // The session of other tabs does not depend on it.
    if (shared.isMarked()) await resume();
    if (session.value === undefined) notArrived.set(ApiError.from(thrown));
  }
}

async function resume(): Promise<void> {
  try {
    const fresh = await shared.renew();
    if (tokens !== undefined) return;
    if (session.value === undefined || isSameAccount(session.value, fresh)) enter(fresh);
    else ended.set(OTHER_ACCOUNT);
  } catch (thrown) {
    if (isRefusal(thrown)) await shared.forgetEnded();
  }
}

/** Whether a token was refused for good. Any other failure may be temporary. */
function isRefusal(thrown: unknown): boolean {
  return [401, 403].includes(ApiError.from(thrown).status);
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
  const held = tokens;
  // Then the session of the tabs is that account's.
  const isOther = ended.value === OTHER_ACCOUNT;
  leave();
  if (held === undefined) return shared.canShare() && !isOther ? shared.forget() : undefined;
  if (held.refreshToken === undefined) return shared.end();
  await post("/v1/auth/Auth/Logout", {}, { token: held.accessToken });
}

/** Ends every login and session of the account, on all computers. @throws {ApiError} */
export async function signOutEverywhere(): Promise<void> {
  const token = await accessToken();
  await post("/v1/auth/Auth/Logout", { everywhere: true }, { token });
  leave();
  if (shared.canShare()) await shared.forget();
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

/** @param refused why the session has ended, if the authority refuses the next token */
async function refresh(
  old: Held,
  refused = "Your session has ended. Sign in again to go on.",
): Promise<string | undefined> {
  let fresh = old;
  let why: string | undefined;
  try {
    fresh = await next(old);
    const isOther = "account" in fresh && session.value && !isSameAccount(session.value, fresh as Held & Session);
    if (isOther) why = OTHER_ACCOUNT;
  } catch (thrown) {
    // After any other failure the old token may still be valid, and the next call tries again.
    if (isRefusal(thrown)) why = refused;
  }
  // Another account may have signed in meanwhile.
  if (tokens !== old) return undefined;
  refreshing = undefined;
  if (why !== undefined) end(why);
  else tokens = fresh;
  return tokens?.accessToken;
}

function next({ refreshToken }: Held): Promise<Held> {
  return refreshToken === undefined ? shared.renew() : post<Tokens>("/auth/Auth/Refresh", { refreshToken });
}

/**
 * Asks the authority whether the token is still valid, and ends the session if it is not. Used for
 * calls that were refused with 401. A session of many tabs may have lost only this token.
 */
export async function checkSession(): Promise<void> {
  const held = tokens;
  if (held === undefined) return;
  try {
    await post("/v1/auth/Auth/WhoAmI", {}, { token: held.accessToken });
  } catch (thrown) {
    if (held !== tokens || ApiError.from(thrown).status !== 401) return;
    if (held.refreshToken !== undefined) return end(WAS_ENDED);
    refreshing ??= refresh(held, WAS_ENDED);
    await refreshing;
  }
}

const WAS_ENDED = "Your session was ended. Sign in again to go on.";
const OTHER_ACCOUNT = "Another account has signed in in this browser. Sign in again to go on.";

function end(why: string): void {
  tokens = undefined;
  refreshing = undefined;
  ended.set(why);
}

function leave(): void {
  tokens = undefined;
  refreshing = undefined;
  ended.set(undefined);
  session.set(undefined);
}
