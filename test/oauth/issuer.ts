/** An issuer of JWTs on this machine, as the platforms of programs are ones (OpenID Connect). */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import type { Test } from "tap";

export interface TestKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

export async function createKey(kid: string, alg = "ES256"): Promise<TestKey> {
  return { kid, alg, ...(await generateKeyPair(alg, { extractable: true })) };
}

export interface TestIssuer {
  readonly url: string;
  /** The keys that it publishes. */
  published: TestKey[];
  /** How often its keys were fetched. */
  fetches: number;
  /** Replaces its responses. */
  respond: ((path: string, response: ServerResponse) => void) | undefined;
  /** More of its metadata. A text that begins with `/` is below its URL. */
  metadata: Record<string, unknown>;
  /** What its token endpoint and its UserInfo endpoint respond. */
  tokens: { readonly status: number; readonly body: unknown };
  info: unknown;
  /** The forms that its token endpoint got. */
  readonly forms: URLSearchParams[];
  /** A JWT with these claims besides `iss`, and `exp` in five minutes. */
  sign(claims: JWTPayload, header?: Record<string, unknown>, key?: TestKey): Promise<string>;
}

export async function openIssuer(t: Test): Promise<TestIssuer> {
  const server = createServer((request, response) => {
    if (issuer.respond !== undefined) return issuer.respond(request.url ?? "", response);
    const reply = (status: number, value: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (request.url === "/token") {
      let form = "";
      request.on("data", (chunk) => {
        form += chunk;
      });
      request.on("end", () => {
        issuer.forms.push(new URLSearchParams(form));
        reply(issuer.tokens.status, issuer.tokens.body);
      });
      return;
    }
    void document(request.url ?? "").then((value) => reply(value === undefined ? 404 : 200, value ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: TestIssuer = {
    url,
    published: [await createKey("first")],
    fetches: 0,
    respond: undefined,
    metadata: {},
    tokens: { status: 400, body: {} },
    info: {},
    forms: [],
    sign: (claims, header = {}, key = issuer.published[0]!) => {
      const exp = Math.floor(Date.now() / 1000) + 300;
      return new SignJWT({ iss: url, exp, ...claims })
        .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
        .sign(key.privateKey);
    },
  };
  const absolute = (metadata: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [name, `${value}`.startsWith("/") ? url + value : value]),
    );
  const document = async (path: string): Promise<unknown> => {
    if (path === "/.well-known/openid-configuration") {
      const endpoints = { authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token` };
      return { issuer: url, jwks_uri: `${url}/keys`, ...endpoints, ...absolute(issuer.metadata) };
    }
    if (path === "/info") return issuer.info;
    if (path !== "/keys") return undefined;
    issuer.fetches++;
    const jwks = issuer.published.map(async ({ kid, alg, publicKey }) => ({
      ...(await exportJWK(publicKey)),
      kid,
      alg,
    }));
    return { keys: await Promise.all(jwks) };
  };
  return issuer;
}
