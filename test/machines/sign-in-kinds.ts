/** Each way to sign in, at gateways of a cluster, and what its holder can do afterwards. */
import { createHash, randomBytes } from "node:crypto";
import { type CryptoKey, SignJWT } from "jose";
import { SessionPage } from "../gateway/page-session.js";
import { consent, submit, visit } from "../oauth/browser.js";

/** How long a request may take, in milliseconds. */
const TIME = 6_000;
export const REDIRECT = "http://127.0.0.1:1/callback";
export const PASSWORD = "a password of one's own";
const GRANT_TYPES = "urn:ietf:params:oauth:grant-type";
export const AUDIENCE = "https://api.example";

export interface Reply {
  /** 0 if there was no response. */
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Asked {
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly token?: string;
}

/** Sends a POST to a gateway. */
export async function ask(url: string, { json = {}, form, token }: Asked): Promise<Reply> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const type = { "content-type": "application/json" };
  const sent =
    form === undefined
      ? { body: JSON.stringify(json), headers: { ...headers, ...type } }
      : { body: new URLSearchParams(form), headers };
  try {
    const response = await fetch(url, { method: "POST", signal: AbortSignal.timeout(TIME), ...sent });
    return { status: response.status, body: (await response.json()) as Reply["body"] };
  } catch {
    return { status: 0, body: {} };
  }
}

/** What one person, program or device has. */
export interface Held {
  /** The access tokens that it was given. */
  readonly tokens: string[];
  /** Asks a gateway for another token. */
  readonly renew: (http: string) => Promise<Reply>;
  /** Whether what it renews by is used up, and a second use ends all. */
  readonly once: boolean;
  /** What only its holder can do to end it, at a gateway. */
  readonly ends: readonly ((http: string) => Promise<Reply>)[];
}

/** Where, and for which account, a token is asked for. */
export interface Place {
  /** Any of the gateways, each time another one. */
  readonly any: () => string;
  /** The account, and the client, the issuer and the trust that exist for it alone. */
  readonly name: string;
  readonly issuer: { readonly url: string; readonly key: CryptoKey };
}

/** The token in a reply; undefined if it gives none. */
export function tokenIn({ status, body }: Reply): string | undefined {
  const token = body.access_token ?? body.accessToken;
  return status === 200 && typeof token === "string" ? token : undefined;
}

function given(reply: Reply): string {
  const token = tokenIn(reply);
  if (token === undefined) throw new Error(`no token, but ${reply.status}: ${JSON.stringify(reply.body)}`);
  return token;
}

const logOut = (token: string) => (http: string) => ask(`${http}/v1/auth/Logout`, { token });

async function login({ any, name }: Place): Promise<Held> {
  const reply = await ask(`${any()}/auth/login`, { json: { account: name, password: PASSWORD } });
  const token = given(reply);
  const { refreshToken } = reply.body;
  const renew = (http: string) => ask(`${http}/auth/refresh`, { json: { refreshToken } });
  return { tokens: [token], renew, once: true, ends: [logOut(token)] };
}

async function page({ any, name }: Place): Promise<Held> {
  const opened = await SessionPage.open(any());
  const token = given(await opened.start({ account: name, password: PASSWORD }));
  /** The same browser at another gateway: its key and its cookie. */
  const at = (http: string): SessionPage => {
    const other = new SessionPage(http, opened.key);
    other.cookie = opened.cookie;
    return other;
  };
  const end = (http: string) => orNothing(at(http).end());
  return {
    tokens: [token],
    renew: (http) => orNothing(at(http).createToken()),
    once: false,
    ends: [end, logOut(token)],
  };
}

const orNothing = (asked: Promise<Reply>): Promise<Reply> => asked.catch(() => ({ status: 0, body: {} }));

/** A code that has not been exchanged yet. */
async function code({ any, name }: Place): Promise<Held> {
  const verifier = randomBytes(32).toString("base64url");
  const request = new URLSearchParams({
    ...{ response_type: "code", client_id: name, redirect_uri: REDIRECT, code_challenge_method: "S256" },
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
  });
  const url = any();
  const person = { account: name, password: PASSWORD };
  const back = await consent({ url }, `${url}/oauth/authorize?${request}`, { person });
  const form = {
    ...{ grant_type: "authorization_code", code: back.searchParams.get("code") ?? "" },
    ...{ client_id: name, redirect_uri: REDIRECT, code_verifier: verifier },
  };
  return { tokens: [], renew: (http) => ask(`${http}/oauth/token`, { form }), once: true, ends: [] };
}

async function grant(place: Place): Promise<Held> {
  const reply = await (await code(place)).renew(place.any());
  const token = given(reply);
  const { name: client_id } = place;
  const refresh_token = String(reply.body.refresh_token);
  const form = { grant_type: "refresh_token", refresh_token, client_id };
  const revoke = (http: string) => ask(`${http}/oauth/revoke`, { form: { client_id, token: refresh_token } });
  return {
    ...{ tokens: [token], renew: (http) => ask(`${http}/oauth/token`, { form }), once: true },
    ends: [revoke, logOut(token)],
  };
}

/** A device code that a person has allowed, and that the device has not exchanged yet. */
async function device({ any, name }: Place): Promise<Held> {
  const { body } = await ask(`${any()}/oauth/device_authorization`, { form: { client_id: name } });
  const url = any();
  const signedIn = { account: name, password: PASSWORD, user_code: String(body.user_code) };
  const shown = await submit({ url }, await visit(`${url}/device`), signedIn);
  const done = await submit({ url }, shown, { decision: "allow" });
  if (!/Allowed/.test(done.text)) throw new Error(`the device was not allowed: ${done.status}`);
  const form = {
    ...{ grant_type: `${GRANT_TYPES}:device_code`, device_code: String(body.device_code), client_id: name },
  };
  return { tokens: [], renew: (http) => ask(`${http}/oauth/token`, { form }), once: true, ends: [] };
}

function sign({ name, issuer }: Place): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ iss: issuer.url, sub: name, aud: AUDIENCE, jti: name, exp: now + 300 })
    .setProtectedHeader({ alg: "ES256", kid: "first" })
    .sign(issuer.key);
}

const exchangeJwt = (jwt: string) => (http: string) =>
  ask(`${http}/oauth/token`, {
    form: {
      ...{ grant_type: `${GRANT_TYPES}:token-exchange`, subject_token: jwt },
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    },
  });

async function jwt(place: Place): Promise<Held> {
  const token = await sign(place);
  return { tokens: [token], renew: exchangeJwt(token), once: false, ends: [] };
}

async function exchanged(place: Place): Promise<Held> {
  const renew = exchangeJwt(await sign(place));
  return { tokens: [given(await renew(place.any()))], renew, once: false, ends: [] };
}

export const SIGN_INS = {
  "a login": login,
  "a session of the pages": page,
  "a code": code,
  "a grant": grant,
  "a device code": device,
  "a JWT": jwt,
  "a token for a JWT": exchanged,
} as const;

export type SignInKind = keyof typeof SIGN_INS;
export const SIGN_IN_KINDS = Object.keys(SIGN_INS) as SignInKind[];

/** What an administrator can do to end what the account of this name has, beside all kinds. */
export function endsBy(admin: string, name: string, kind: SignInKind): ((http: string) => Promise<Reply>)[] {
  const call = (endpoint: string, json: unknown) => (http: string) =>
    ask(`${http}/v1/auth/${endpoint}`, { json, token: admin });
  const all = [
    call("Accounts/SetDisabled", { name, disabled: true }),
    call("Accounts/Delete", { name }),
    call("Accounts/SetPassword", { name, currentPassword: "", newPassword: "another password" }),
  ];
  if (kind === "a code" || kind === "a grant" || kind === "a device code")
    return [...all, call("Clients/Delete", { id: name }), grantsDeleted(admin, name)];
  if (kind !== "a JWT" && kind !== "a token for a JWT") return all;
  return [
    ...all,
    call("Trusts/Delete", { name }),
    call("Issuers/Delete", { name }),
    call("Trusts/RevokeToken", { jti: name }),
  ];
}

/** Lists the grants of the account, and deletes them. */
const grantsDeleted = (admin: string, name: string) => async (http: string) => {
  const { status, body } = await ask(`${http}/v1/auth/Grants/List`, { json: { pageSize: 1_000 }, token: admin });
  if (status !== 200) return { status, body };
  // There are several if a response was lost when the person signed in, and a second try was made.
  const own = (body.grants as { id: string; account: string }[]).filter(({ account }) => account === name);
  const replies = own.map(({ id }) => ask(`${http}/v1/auth/Grants/Delete`, { json: { id }, token: admin }));
  const failed = (await Promise.all(replies)).find((reply) => reply.status !== 200);
  return failed ?? { status: own.length === 0 ? 404 : 200, body: {} };
};
