// The official client of MCP, in its version for both eras of the protocol, signs in by itself at
// `/mcp`, and calls by `portico mcp` with the login of `portico login --web`.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { loginByWeb } from "../cli/login-by-web.js";
import { npmPackages } from "../outside/tools.js";
import { consent, openDoor } from "./browser.js";

const REDIRECT = "http://127.0.0.1:7777/callback";

const folder = npmPackages("@modelcontextprotocol/client@2.4.0");
const entry = (file: string) =>
  pathToFileURL(join(folder, "node_modules/@modelcontextprotocol/client/dist", file)).href;
const { Client, StreamableHTTPClientTransport } = await import(entry("index.mjs"));
const { StdioClientTransport } = await import(entry("stdio.mjs"));

const ERAS = [
  ["without sessions", { versionNegotiation: { mode: "auto" } }, "2026-07-28"],
  ["with initialize", {}, "2025-11-25"],
] as const;

/** Only known callers may call helloworld, and `agent` is a client. */
async function closedDoor(t: Parameters<typeof openDoor>[0]) {
  const door = await openDoor(t);
  await door.auth("Rules/Delete", { id: "default" });
  const rule = { id: "known", scope: "*", access: "GRANTED", resource: "service:helloworld:*", priority: 0 };
  await door.auth("Rules/Create", { rule });
  await door.auth("Clients/Create", { name: "agent", redirectUris: ["http://127.0.0.1/callback"] });
  return door;
}

for (const [era, options, revision] of ERAS) {
  t.test(`it signs in at /mcp, renews and ends, ${era}`, async (t) => {
    const door = await closedDoor(t);
    let asked: URL | undefined;
    let verifier = "";
    let state: object | undefined;
    let tokens: { access_token: string; refresh_token: string } | undefined;
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
      saveDiscoveryState: (saved: object) => {
        state = saved;
      },
      discoveryState: () => state,
    };
    const transport = () => new StreamableHTTPClientTransport(new URL(`${door.url}/mcp`), { authProvider: provider });
    const first = transport();
    const stranger = new Client({ name: "agent", version: "1" }, options);
    await t.rejects(
      stranger.connect(first).then(() => stranger.listTools()),
      "it is sent to sign in",
    );
    t.equal(asked?.searchParams.get("resource"), `${door.url}/mcp`);
    t.equal(asked?.searchParams.get("code_challenge_method"), "S256");
    const back = await consent(door, (asked as URL).href);
    await first.finishAuth(back.searchParams);
    const client = new Client({ name: "agent", version: "1" }, options);
    await client.connect(transport());
    t.teardown(() => client.close());
    t.equal(client.getNegotiatedProtocolVersion(), revision);
    const greet = async () => {
      const called = await client.callTool({ name: "helloworld.Call", arguments: { name: "Ada" } });
      return called.structuredContent.message;
    };
    t.equal(await greet(), "Hello Ada");
    t.equal(await door.statusOf(tokens?.access_token ?? ""), 403, "its token counts at /mcp only");

    const old = tokens?.access_token ?? "";
    const form = new URLSearchParams({ client_id: "agent", token: old });
    await fetch(`${door.url}/oauth/revoke`, { method: "POST", body: form });
    t.equal(await greet(), "Hello Ada", "it renews an access token that has ended");
    t.not(tokens?.access_token, old);

    await door.auth("Clients/Delete", { id: "agent" });
    await t.rejects(greet(), "nothing counts when its client has been deleted");
  });

  t.test(`it calls by portico mcp, with the login of a person, ${era}`, async (t) => {
    const door = await closedDoor(t);
    const env = { HOME: t.testdir(), XDG_CONFIG_HOME: t.testdir() };
    await loginByWeb(door, env);
    const client = new Client({ name: "agent", version: "1" }, options);
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [join("dist", "portico.js"), "mcp", "--url", door.url],
        env: { PATH: process.env.PATH, ...env },
      }),
    );
    t.teardown(() => client.close());
    t.equal(client.getNegotiatedProtocolVersion(), revision);
    const called = await client.callTool({ name: "helloworld.Call", arguments: { name: "Ada" } });
    t.equal(called.structuredContent.message, "Hello Ada");
  });
}
