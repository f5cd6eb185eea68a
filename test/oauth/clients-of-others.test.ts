// Clients that others have made sign in: openid-client, and the official MCP client at /mcp.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as openid from "openid-client";
import t from "tap";
import { consent, openDoor } from "./browser.js";

const REDIRECT = "http://127.0.0.1:7777/callback";

t.test("openid-client signs in, renews, and revokes, and notices a mixed-up issuer", async (t) => {
  const door = await openDoor(t);
  const request = { name: "app", redirectUris: ["http://127.0.0.1/callback"], confidential: true };
  const { secret } = await door.auth<{ secret: string }>("Clients/Create", request);
  const options = { execute: [openid.allowInsecureRequests], algorithm: "oauth2" as const };
  const config = await openid.discovery(new URL(door.url), "app", secret, undefined, options);
  const verifier = openid.randomPKCECodeVerifier();
  const state = openid.randomState();
  const url = openid.buildAuthorizationUrl(config, {
    ...{ redirect_uri: REDIRECT, scope: "service:helloworld:*", state },
    ...{ code_challenge: await openid.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256" },
  });
  const back = await consent(door, url.href);
  const tokens = await openid.authorizationCodeGrant(config, back, {
    pkceCodeVerifier: verifier,
    expectedState: state,
  });
  t.equal(await door.statusOf(tokens.access_token), 200);
  const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!);
  t.equal(await door.statusOf(renewed.access_token), 200);
  await openid.tokenRevocation(config, renewed.refresh_token!);
  t.equal(await door.statusOf(renewed.access_token), 401);
  const mixedUp = new URL(back);
  mixedUp.searchParams.set("iss", "https://other.example");
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  await t.rejects(openid.authorizationCodeGrant(config, mixedUp, checks), { code: "OAUTH_INVALID_RESPONSE" });
});

t.test("the official MCP client signs in by itself", async (t) => {
  const door = await openDoor(t);
  await door.auth("Rules/Delete", { id: "default" });
  const rule = { id: "known", scope: "*", access: "GRANTED", resource: "service:helloworld:*", priority: 0 };
  await door.auth("Rules/Create", { rule });
  await door.auth("Clients/Create", {
    name: "agent",
    redirectUris: ["http://127.0.0.1/callback"],
    confidential: false,
  });
  let asked: URL | undefined;
  let verifier = "";
  let tokens: { access_token: string; token_type: string } | undefined;
  const provider = {
    redirectUrl: REDIRECT,
    clientMetadata: { redirect_uris: [REDIRECT], client_name: "agent" },
    clientInformation: () => ({ client_id: "agent" }),
    tokens: () => tokens,
    saveTokens: (saved: typeof tokens) => {
      tokens = saved;
    },
    redirectToAuthorization: (url: URL) => {
      asked = url;
    },
    saveCodeVerifier: (text: string) => {
      verifier = text;
    },
    codeVerifier: () => verifier,
  };
  const connect = async (transport: StreamableHTTPClientTransport) => {
    const client = new Client({ name: "agent", version: "1" });
    await client.connect(transport as never);
    t.teardown(() => client.close());
    return client.listTools();
  };
  const transport = new StreamableHTTPClientTransport(new URL(`${door.url}/mcp`), { authProvider: provider });
  await t.rejects(connect(transport), { message: "Unauthorized" });
  t.equal(asked?.searchParams.get("resource"), `${door.url}/mcp`);
  const back = await consent(door, asked!.href);
  await transport.finishAuth(back.searchParams.get("code")!);
  const second = new StreamableHTTPClientTransport(new URL(`${door.url}/mcp`), { authProvider: provider });
  t.match(await connect(second), { tools: [{ name: "helloworld.Call" }] });
  t.equal(await door.statusOf(tokens!.access_token), 403, "its token counts at /mcp only");
});
