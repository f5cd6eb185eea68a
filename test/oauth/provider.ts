/** A real issuer on this machine: oidc-provider, with its own pages of sign-in and consent. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";
import type { Test } from "tap";

export interface OpenProvider {
  readonly url: string;
  /** What it says about each person, by `sub`. It knows nobody else. */
  readonly people: Record<string, Record<string, unknown>>;
  /** Replaces its keys, and forgets who has signed in. */
  rollKeys(kid: string): Promise<void>;
  /** Whether it gives refresh tokens. */
  givesRefreshTokens: boolean;
}

export const CLIENT = { clientId: "portico", clientSecret: "a secret that the issuer gave, of 43 characters" };

/** @param redirectUri where it sends people back to */
export async function openProvider(t: Test, redirectUri: string): Promise<OpenProvider> {
  let listener: RequestListener = (_, response) => response.end();
  const server = createServer((request, response) => listener(request, response));
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
    async rollKeys(kid) {
      const { privateKey } = await generateKeyPair("RS256", { extractable: true });
      const jwks = { keys: [{ ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" }] };
      const client = {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
      };
      listener = new Provider(url, {
        clients: [client],
        jwks,
        cookies: { keys: ["of a test"] },
        scopes: ["openid", "email", "profile", "groups"],
        claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
        findAccount: (_: unknown, sub: string) =>
          provider.people[sub] && { accountId: sub, claims: () => ({ sub, ...provider.people[sub] }) },
        issueRefreshToken: () => provider.givesRefreshTokens,
      }).callback();
    },
  };
  await provider.rollKeys("first");
  return provider;
}
