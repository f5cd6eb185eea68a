/**
 * Logs in by the gateway's own authorization server: in a browser on this computer (RFC 8252), or
 * by a code that a person types into a browser elsewhere (RFC 8628).
 */
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { CommandError, EXIT, interrupted } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { visible } from "../terminal/text.js";
import { jsonOf, send } from "./request.js";

/** As the token endpoint returns them (RFC 6749 §5.1). */
export interface GrantedTokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
}

const CLIENT = "portico-cli";
/** A command may do whatever its account may. */
const SCOPE = "*:*:*";
const TIMEOUT_MS = 10_000;
/** How long a person may take in the browser, in milliseconds. */
const MAX_WAIT_MS = 10 * 60_000;

/**
 * Opens a browser, and waits for it to come back with a code. The page shows the issuers of the
 * namespace; if undefined, of the default one.
 * @throws {CommandError} when the person refuses, or takes too long
 */
export async function loginInBrowser(base: URL, io: Io, namespace?: string): Promise<GrantedTokens> {
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(16).toString("base64url");
  const { issuer, authorization_endpoint: endpoint } = await metadata(base, io);
  if (!isPage(endpoint)) {
    throw new CommandError(`${base.href} names no page of http or https where people log in. Is it a gateway?`);
  }
  const { createServer } = await import("node:http");
  const server = createServer();
  try {
    const redirectUri = await listen(server);
    const url = new URL(endpoint);
    url.search = new URLSearchParams({
      ...{ response_type: "code", client_id: CLIENT, redirect_uri: redirectUri, scope: SCOPE, state },
      ...{ code_challenge: createHash("sha256").update(verifier).digest("base64url"), code_challenge_method: "S256" },
      ...(namespace !== undefined && { namespace }),
    }).toString();
    io.stderr.write(`Log in here, if no browser opens: ${url}\n`);
    openBrowser(url.href, io);
    const code = await codeFrom(server, { state, issuer, io });
    const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
    return await tokensBy(base, form, io);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/**
 * Shows a code, and waits until a person has typed it into a browser anywhere. The page shows the
 * issuers of the namespace; if undefined, of the default one.
 * @throws {CommandError} when the person refuses, or takes too long
 */
export async function loginByCode(base: URL, io: Io, namespace?: string): Promise<GrantedTokens> {
  const name = `portico on ${(await import("node:os")).hostname()}`;
  const begun = JSON.parse(
    jsonOf(
      await postForm(base, "/oauth/device_authorization", { client_id: CLIENT, client_name: name, scope: SCOPE }, io),
    ),
  ) as { device_code: string; user_code: string; verification_uri: string; interval: number };
  const page = new URL(begun.verification_uri);
  if (namespace !== undefined) page.searchParams.set("namespace", namespace);
  io.stderr.write(`Open ${page} and type the code ${visible(begun.user_code)}\n`);
  let interval = begun.interval;
  const form = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: begun.device_code };
  for (const end = performance.now() + MAX_WAIT_MS; performance.now() < end; ) {
    await wait(interval * 1000, undefined, { signal: io.signal }).catch(() => {
      throw interrupted();
    });
    const response = await postForm(base, "/oauth/token", { client_id: CLIENT, ...form }, io);
    if (response.status === 200) return JSON.parse(response.body) as GrantedTokens;
    const { error } = JSON.parse(response.body) as { error?: string };
    if (error === "slow_down") interval += 5;
    else if (error !== "authorization_pending") throw refused(error ?? "unknown error");
  }
  throw refused("nobody has typed the code in time");
}

/** An address of another scheme would start some other program of this computer. */
function isPage(address: unknown): address is string {
  return typeof address === "string" && URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
}

async function metadata(base: URL, io: Io): Promise<{ issuer: string; authorization_endpoint: unknown }> {
  const path = "/.well-known/oauth-authorization-server";
  return JSON.parse(jsonOf(await send(base, { method: "GET", path, timeoutMs: TIMEOUT_MS, signal: io.signal })));
}

async function tokensBy(base: URL, form: Record<string, string>, io: Io): Promise<GrantedTokens> {
  return JSON.parse(jsonOf(await postForm(base, "/oauth/token", { client_id: CLIENT, ...form }, io)));
}

function postForm(base: URL, path: string, form: Record<string, string>, { signal }: Io) {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams(form).toString();
  return send(base, { method: "POST", path, body, headers, timeoutMs: TIMEOUT_MS, signal });
}

/** Listens at a free port. Returns the redirect URI. */
function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`);
    });
  });
}

/** The code with which the browser comes back. */
function codeFrom(server: Server, { state, issuer, io }: { state: string; issuer: string; io: Io }): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(refused("nobody has logged in in time")), MAX_WAIT_MS);
    io.signal.addEventListener("abort", () => reject(interrupted()), { once: true });
    server.on("close", () => clearTimeout(timer));
    server.on("request", (request, response) => {
      const target = `http://127.0.0.1${request.url}`;
      const { pathname, searchParams } = new URL(URL.canParse(target) ? target : "http://127.0.0.1/");
      // Another page may send the browser here too: only the response to this request counts.
      const isOurs =
        pathname === "/callback" && searchParams.get("state") === state && searchParams.get("iss") === issuer;
      response.writeHead(isOurs ? 200 : 404, { "content-type": "text/plain; charset=utf-8", connection: "close" });
      response.end(isOurs ? "You can close this page and go back to the terminal.\n" : "Not found\n");
      if (!isOurs) return;
      const code = searchParams.get("code");
      if (code === null) reject(refused(searchParams.get("error") ?? "unknown error"));
      else response.on("finish", () => resolve(code));
    });
  });
}

function refused(why: string): CommandError {
  return new CommandError(
    `Not logged in: ${why === "access_denied" ? "it was refused in the browser" : why}`,
    EXIT.login,
  );
}

/** Opens the system's browser, if there is one. Nothing depends on it: the address was printed. */
function openBrowser(url: string, { env }: Io): void {
  const opener = process.platform === "darwin" ? "open" : process.platform === "win32" ? "explorer" : "xdg-open";
  const [command = opener, ...words] = env.BROWSER ? env.BROWSER.split(" ") : [opener];
  spawn(command, [...words, url], { stdio: "ignore", detached: true })
    .on("error", () => undefined)
    .unref();
}
