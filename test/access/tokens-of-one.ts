/**
 * A token of each kind, all of one account: what its holder shows, and what the holder keeps to get
 * another one.
 */
import { SYSTEM } from "../../src/access/guard.js";
import { AccountsService } from "../../src/gen/portico/auth/v1/accounts.js";
import { AuthService, type Tokens } from "../../src/gen/portico/auth/v1/auth.js";
import { ClientsService } from "../../src/gen/portico/auth/v1/clients.js";
import { GrantsService } from "../../src/gen/portico/auth/v1/grants.js";
import { IssuersService } from "../../src/gen/portico/auth/v1/issuers.js";
import { KeysService } from "../../src/gen/portico/auth/v1/keys.js";
import { PolicyService } from "../../src/gen/portico/auth/v1/policy.js";
import { TrustsService } from "../../src/gen/portico/auth/v1/trusts.js";
import { consent, consentBy, exchange, exchangeJwt, REDIRECT } from "../oauth/at-the-authority.js";
import type { TestIssuer } from "../oauth/issuer.js";
import type { Open } from "../services/auth/open.js";
import { type Browser, renew, signIn, signInByIssuer } from "../services/auth/page-browser.js";

const PASSWORD = "a password of one's own";
export const AUDIENCE = "https://api.example";
const CLIENT = "portico";
export const CLI = "portico-cli";

export const KINDS = [
  "a login",
  "a login by the browser",
  "a session of the pages",
  "a session by an issuer",
  "a grant",
  "a grant by an issuer",
  "a JWT",
  "a token for a JWT",
  "a key",
] as const;
export type Kind = (typeof KINDS)[number];

/** A grant's code and its first tokens, as its client has them. */
export interface Granted {
  readonly id: string;
  readonly code: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

export interface TokensOfOne {
  /** The account. The client, the issuer, the trust and the `jti` of the JWT have the same name. */
  readonly name: string;
  readonly login: Tokens;
  /** A grant to the command line. */
  readonly browserLogin: Granted;
  readonly page: Browser;
  /** For which the person signed in by the issuer. */
  readonly issuerPage: Browser;
  /** A grant to the client. */
  readonly grant: Granted;
  /** Another grant to the client, for which the person signed in by the issuer. */
  readonly issuerGrant: Granted;
  /** Of the trust in the issuer. */
  readonly jwt: string;
  readonly exchanged: string;
  readonly key: { readonly secret: string; readonly prefix: string };
}

interface Giving {
  readonly at: Open;
  readonly admin: string;
  readonly issuer: TestIssuer;
}

/** The authority gives an account a token of each kind. It gives none for the JWT, which is one. */
export async function tokensOfOne({ at, admin, issuer }: Giving, name: string): Promise<TokensOfOne> {
  const person = { account: name, password: PASSWORD };
  await createNamed({ at, admin, issuer }, name);
  const login = await at.call(AuthService.login, { namespace: "", ...person });
  const jwt = await issuer.sign({ sub: name, aud: AUDIENCE, jti: name });
  const newKey = { name: "ci", lifetime: undefined, resources: [], from: [] };
  const { secret, key } = await at.call(KeysService.create, newKey, login.accessToken);
  const ids = new Set<string>();
  const granted = async (code: string, clientId: string): Promise<Granted> => {
    const { accessToken, refreshToken } = await exchange(at, { $case: "code", value: code }, clientId);
    const request = { pageSize: 0, pageToken: "" };
    const { grants } = await at.call(GrantsService.list, request, login.accessToken);
    // Grants of the same millisecond are in any order.
    const id = grants.find((grant) => !ids.has(grant.id))!.id;
    ids.add(id);
    return { id, code, accessToken, refreshToken };
  };
  const byIssuer = { issuer, name, subject: name, audience: CLIENT };
  return {
    ...{ name, login, jwt, key: { secret, prefix: key?.prefix ?? "" } },
    browserLogin: await granted(await consent(at, CLI, person), CLI),
    page: await signIn(at, name, PASSWORD),
    issuerPage: await signInByIssuer(at, byIssuer),
    grant: await granted(await consent(at, name, person), name),
    issuerGrant: await granted(await consentBy(at, byIssuer, name), name),
    exchanged: (await exchangeJwt(at, jwt)).accessToken,
  };
}

/** An account, a client, an issuer that knows the person, and a trust in it. */
async function createNamed({ at: { call }, admin, issuer }: Giving, name: string): Promise<void> {
  await call(AccountsService.create, { name, password: PASSWORD, scopes: [] }, admin);
  await call(ClientsService.create, { name, redirectUris: [REDIRECT], confidential: false }, admin);
  const claims = { accountClaim: "", trustClaim: false, groupsClaim: "", map: [], mayAdminister: false };
  const people = { clientId: CLIENT, createAccounts: false, ...claims };
  await call(IssuersService.create, { name, url: issuer.url, signIn: people, clientSecret: "" }, admin);
  await call(AccountsService.link, { name, issuer: name, subject: name }, admin);
  const trust = { name, issuer: name, account: name, audience: AUDIENCE, subject: name };
  await call(TrustsService.create, { ...trust, bearer: true }, admin);
}

/** What is shown for a call. */
export function tokenOf(tokens: TokensOfOne, kind: Kind): string {
  const texts: Record<Kind, string> = {
    "a login": tokens.login.accessToken,
    "a login by the browser": tokens.browserLogin.accessToken,
    "a session of the pages": tokens.page.token,
    "a session by an issuer": tokens.issuerPage.token,
    "a grant": tokens.grant.accessToken,
    "a grant by an issuer": tokens.issuerGrant.accessToken,
    "a JWT": tokens.jwt,
    "a token for a JWT": tokens.exchanged,
    "a key": tokens.key.secret,
  };
  return texts[kind];
}

/** Whether the authority gives another token for what the holder has kept. A key gives none. */
export async function renews(tokens: TokensOfOne, kind: Kind, opened: Open): Promise<boolean> {
  const { call } = opened;
  const refreshes = async ({ refreshToken }: Granted, clientId: string): Promise<boolean> =>
    (await exchange(opened, { $case: "refreshToken", value: refreshToken }, clientId)).error === "";
  const ways: Record<Kind, () => Promise<boolean>> = {
    "a login": () => isGiven(call(AuthService.refresh, { refreshToken: tokens.login.refreshToken })),
    "a login by the browser": () => refreshes(tokens.browserLogin, CLI),
    "a session of the pages": () => isGiven(renew(opened, tokens.page)),
    "a session by an issuer": () => isGiven(renew(opened, tokens.issuerPage)),
    "a grant": () => refreshes(tokens.grant, tokens.name),
    "a grant by an issuer": () => refreshes(tokens.issuerGrant, tokens.name),
    "a JWT": async () =>
      (await call(PolicyService.acceptJwt, { jwt: tokens.jwt }, undefined, { admission: SYSTEM })).accepted,
    "a token for a JWT": async () => (await exchangeJwt(opened, tokens.jwt)).error === "",
    "a key": async () => false,
  };
  return ways[kind]();
}

function isGiven(asked: Promise<unknown>): Promise<boolean> {
  return asked.then(
    () => true,
    () => false,
  );
}
