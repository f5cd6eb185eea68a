/** A real issuer on this machine: oidc-provider, with its own pages of sign-in and consent. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import Provider from "oidc-provider";
import type { Test } from "tap";

export interface OpenProvider {
  readonly url: string;
  /** What it says about each person, by `sub`. It knows nobody else. */
  readonly people: Record<string, Record<string, unknown>>;
  /** Replaces its keys by the one with this ID, and forgets who has signed in. */
  rollKeys(kid: string): Promise<void>;
  /** Whether it gives refresh tokens. */
  givesRefreshTokens: boolean;
  /**
   * Whether it replaces a refresh token at each use. When one comes twice, all that came of it
   * counts no longer.
   */
  rotates: boolean;
  /** Whether it responds to everything with an error of its own. */
  fails: boolean;
  /** How often it was asked by a refresh token, and whether it gave tokens. */
  readonly refreshes: boolean[];
}

export const CLIENT = { clientId: "portico", clientSecret: "a secret that the issuer gave, of 43 characters" };

/** Making an RSA key takes a tenth of a second, so the tests of a process share the keys. */
const keys = new Map<string, Promise<JWK>>();

function keyOf(kid: string): Promise<JWK> {
  const key = keys.get(kid) ?? createKey(kid);
  keys.set(kid, key);
  return key;
}

async function createKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" };
}

/** @param redirectUri where it sends people back to */
export async function openProvider(t: Test, redirectUri: string): Promise<OpenProvider> {
  let listener: RequestListener = (_, response) => response.end();
  const server = createServer((request, response) => {
    if (provider.fails) response.writeHead(503).end();
    else listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: OpenProvider = {
    url,
    people: {},
    givesRefreshTokens: false,
    rotates: false,
    fails: false,
    refreshes: [],
    async rollKeys(kid) {
      const jwks = { keys: [await keyOf(kid)] };
      const client = {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
      };
      const made = new Provider(url, {
        clients: [client],
        jwks,
        cookies: { keys: ["of a test"] },
        scopes: ["openid", "email", "profile", "groups"],
        claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
        findAccount: (_: unknown, sub: string) =>
          provider.people[sub] && { accountId: sub, claims: () => ({ sub, ...provider.people[sub] }) },
        issueRefreshToken: () => provider.givesRefreshTokens,
        rotateRefreshToken: () => provider.rotates,
      });
      for (const [event, isGiven] of [
        ["grant.success", true],
        ["grant.error", false],
      ] as const) {
        made.on(event, ({ oidc }) => {
          if (oidc.params?.grant_type === "refresh_token") provider.refreshes.push(isGiven);
        });
      }
      listener = made.callback();
    },
  };
  await provider.rollKeys("first");
  return provider;
}
