/** A gateway as its callers see it: address, certificate, clock, version, token, and a call. */
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import packageJson from "../../package.json" with { type: "json" };
import { readError } from "../../src/api/errors.js";
import type { QuietConnection } from "../command/connection.js";
import { type HttpResponse, jsonOf, send } from "../http/request.js";
import { CommandError } from "../terminal/exit.js";
import { checkTime } from "./certificates.js";
import { compareClocks } from "./clock.js";
import { ALIVE, DEADLINE_MS, type Finding, findingsOf } from "./finding.js";

/** @throws {CommandError} if the gateway does not respond */
export async function checkGateway(gateway: QuietConnection, signal: AbortSignal): Promise<readonly Finding[]> {
  const { ok, problem } = findingsOf("gateway");
  const { base } = gateway;
  const sent = Date.now();
  const { status, body, date } = await send(base, { method: "GET", path: "/livez", timeoutMs: DEADLINE_MS, signal });
  if (body !== ALIVE) {
    return [
      problem(
        `Not Portico, or a proxy without a gateway, responds at ${base.href} (HTTP ${status}): correct the address or the proxy`,
      ),
    ];
  }
  const time = Date.parse(date ?? "");
  const clock = Number.isNaN(time) ? [] : [compareClocks("the gateway", time, { sent, received: Date.now() })];
  const further = await Promise.all([checkVersion(gateway, signal), checkCall(gateway, signal)]);
  return [ok(`Portico responds at ${base.href}`), ...clock, ...further.flat()];
}

/**
 * The certificate that the gateway, or a proxy in front of it, shows to its callers; nothing
 * without TLS.
 */
export async function checkGatewayCertificate({ base }: QuietConnection): Promise<readonly Finding[]> {
  const { problem, unchecked } = findingsOf("certificates");
  if (base.protocol !== "https:") return [];
  const host = base.hostname.replace(/^\[|\]$/g, "");
  const socket = connect({
    host,
    port: Number(base.port || 443),
    // Whether the certificate is trusted is reported below, with its times.
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
  });
  try {
    const shown = await handshake(socket);
    if (!shown) return [unchecked(`No TLS handshake at ${base.origin} ended within ${DEADLINE_MS / 1000} s`)];
    const { raw } = socket.getPeerCertificate();
    const times = checkTime(raw, `certificate of ${base.host}`);
    const reason = `${socket.authorizationError ?? ""}`;
    if (reason === "" || times.state === "problem") return [times];
    return [
      problem(
        `The certificate of ${base.host} is not trusted here (${reason}): correct it, or name its authority in NODE_EXTRA_CA_CERTS`,
      ),
    ];
  } finally {
    socket.destroy();
  }
}

function handshake(socket: TLSSocket): Promise<boolean> {
  return new Promise((resolve) => {
    socket.setTimeout(DEADLINE_MS, () => resolve(false));
    socket.once("secureConnect", () => resolve(true)).on("error", () => resolve(false));
  });
}

/** Asks for the version by the Model Context Protocol, which states it to every caller. */
async function checkVersion({ base }: QuietConnection, signal: AbortSignal): Promise<Finding> {
  const { ok, warning, unchecked } = findingsOf("versions");
  const clientInfo = { name: "portico doctor", version: packageJson.version };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const headers = { accept: "application/json, text/event-stream" };
  const response = await send(base, { method: "POST", path: "/mcp", body, headers, timeoutMs: DEADLINE_MS, signal });
  const version = /"serverInfo":\{[^}]*"version":"([^"]+)"/.exec(response.body)?.[1];
  if (version === undefined) return unchecked(`The gateway does not say its version (HTTP ${response.status} at /mcp)`);
  if (version === packageJson.version) return ok(`The gateway and this program are Portico ${version}`);
  return warning(`The gateway is Portico ${version}, this program ${packageJson.version}: install the same version`);
}

/** Calls the registry, and helloworld if the caller may see it. */
async function checkCall(gateway: QuietConnection, signal: AbortSignal): Promise<readonly Finding[]> {
  const token = findingsOf("token");
  const call = findingsOf("call");
  const listed = await post(gateway, "/registry/Registry/List", {}, signal);
  const login = `Log in: ${gateway.loginCommand}`;
  if (listed.status === 401) return [token.problem(`The token is refused: ${detailOf(listed)}. ${login}`)];
  if (listed.status !== 200) return [call.problem(refusal("the registry", listed))];
  const known =
    gateway.token === undefined ? token.unchecked(`There is no login here. ${login}`) : token.ok("The token is valid");
  const services = servicesIn(listed);
  if (services === undefined) return [call.problem(refusal("the registry", listed))];
  if (!services.some((service) => service?.name === "helloworld")) {
    const text = "The registry responded. No service was called, because this caller sees no helloworld";
    return [known, call.unchecked(text)];
  }
  const began = performance.now();
  const called = await callHelloworld(gateway, signal);
  if (typeof called === "string") return [known, call.problem(called)];
  if (called.status !== 200) return [known, call.problem(refusal("helloworld", called))];
  return [known, call.ok(`A call of helloworld took ${Math.ceil(performance.now() - began)} ms`)];
}

/** @returns why there is no response, for the operator, if the gateway does not send one in time */
async function callHelloworld(gateway: QuietConnection, signal: AbortSignal): Promise<HttpResponse | string> {
  try {
    return await post(gateway, "/helloworld/Call", { name: "doctor" }, signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof CommandError)) throw error;
    const reason = error.message.replace(/\.$/, "");
    return `A call of helloworld failed: ${reason}. Other calls are responded to: if helloworld hangs, restart it`;
  }
}

/** Undefined if the response is not Portico's. */
function servicesIn(response: HttpResponse): readonly ({ readonly name?: unknown } | null)[] | undefined {
  const { services = [] } = (JSON.parse(jsonOf(response)) ?? { services: null }) as { readonly services?: unknown };
  return Array.isArray(services) ? services : undefined;
}

function post(
  { base, token, namespace }: QuietConnection,
  endpoint: string,
  message: object,
  signal: AbortSignal,
): Promise<HttpResponse> {
  // At a path with /v1 a token must be valid. It belongs to one namespace.
  const path = `${token !== undefined && namespace === undefined ? "/v1" : ""}${endpoint}`;
  const body = JSON.stringify(message);
  return send(base, { method: "POST", path, body, token, namespace, timeoutMs: DEADLINE_MS, signal });
}

function refusal(whose: string, response: HttpResponse): string {
  const request = response.requestId === undefined ? "" : `, request ${response.requestId}`;
  const text = `A call of ${whose} failed: ${detailOf(response)} (HTTP ${response.status}${request})`;
  const isRefused = whose === "helloworld" && (response.status === 401 || response.status === 403);
  return isRefused
    ? `${text}. See which rule decides: portico auth explain helloworld:Helloworld.Call`
    : `${text}. Look for the request in the gateway's log`;
}

function detailOf({ body }: HttpResponse): string {
  return (readError(body)?.Detail ?? "the response is not Portico's").replace(/\.$/, "");
}
