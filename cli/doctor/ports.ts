/** Who listens on the ports of a role. */

import { get } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { type Address, formatAddress, formatHttpAddress, type HttpAddress } from "../../src/address/address.js";
import { type Config, SETTINGS } from "../../src/config/config.js";
import { GRPC_PORT, HTTP_PORT, type RoleName } from "../../src/config/setting.js";
import { ListenError } from "../../src/process/listen.js";
import { send } from "../http/request.js";
import { tryPorts } from "../roles/try-ports.js";
import { ALIVE, DEADLINE_MS, type Finding, findingsOf } from "./finding.js";

type Key = "http" | "grpc" | "admin";

/** How much earlier than asked a timer may end, in milliseconds. */
const TIMER_MS = 50;

const { ok, problem } = findingsOf("ports");

export function checkPorts(role: RoleName, config: Config, signal: AbortSignal): Promise<readonly Finding[]> {
  const keys = [
    ...(HTTP_PORT.includes(role) ? (["http"] as const) : []),
    ...(GRPC_PORT.includes(role) ? (["grpc"] as const) : []),
    "admin" as const,
  ];
  return Promise.all(keys.map((key) => checkPort(key, config, signal)));
}

async function checkPort(key: Key, config: Config, signal: AbortSignal): Promise<Finding> {
  const { variable } = SETTINGS[key];
  const address = config[key];
  const name = `${formatHttpAddress(address)} (${variable})`;
  if ("port" in address && address.port === 0) return ok(`${name} is any free port`);
  if (!(await isAnswered("path" in address ? address : reachable(address)))) return tryToListen(key, config, name);
  const asked = performance.now();
  if (await isPortico(key, config, signal)) return ok(`Portico responds at ${name}`);
  const elsewhere = `stop it, or name another address in ${variable}`;
  if (performance.now() - asked < DEADLINE_MS - TIMER_MS)
    return problem(`Another program listens on ${name}: ${elsewhere}`);
  const late = `What listens on ${name} does not respond within ${DEADLINE_MS / 1000} s`;
  return problem(`${late}: if it is this process, it hangs, so restart it; if it is another program, ${elsewhere}`);
}

/** Listens for a moment, to find out whether this user may. */
async function tryToListen(key: Key, config: Config, name: string): Promise<Finding> {
  try {
    await tryPorts([key], config);
    return ok(`${name} is free: nothing listens there yet`);
  } catch (error) {
    if (error instanceof ListenError) return problem(error.message);
    throw error;
  }
}

/** Where this machine reaches a port that listens on all addresses. */
export function reachable({ host, port }: Address): Address {
  if (host === "0.0.0.0") return { host: "127.0.0.1", port };
  return host === "::" ? { host: "::1", port } : { host, port };
}

function isAnswered(address: HttpAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = "path" in address ? connect(address.path) : connect(address);
    const end = (answered: boolean) => () => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(DEADLINE_MS, end(false)).once("connect", end(true)).once("error", end(false));
  });
}

async function isPortico(key: Key, config: Config, signal: AbortSignal): Promise<boolean> {
  const wanted = config[key];
  if ("path" in wanted) return isPorticoAt(wanted.path);
  const address = formatAddress(reachable(wanted));
  const cert = { http: config.httpTlsCert, grpc: config.tlsCert, admin: undefined }[key];
  // With TLS a name is needed to call; see checkGateway.
  if (cert !== undefined) return true;
  if (key === "grpc") return speaksHttp2(`http://${address}`);
  try {
    const base = new URL(`http://${address}`);
    const { body } = await send(base, { method: "GET", path: "/livez", timeoutMs: DEADLINE_MS, signal });
    return body === ALIVE;
  } catch {
    return false;
  }
}

/** @param socketPath of a Unix socket */
function isPorticoAt(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ socketPath, path: "/livez", signal: AbortSignal.timeout(DEADLINE_MS) }, (response) => {
      text(response).then(
        (body) => resolve(body === ALIVE),
        () => resolve(false),
      );
    });
    request.on("error", () => resolve(false));
  });
}

/** Whether the server sends the settings frame that begins HTTP/2 (RFC 9113 §3.4). */
function speaksHttp2(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const session = connectHttp2(url);
    const end = (speaks: boolean) => () => {
      session.destroy();
      resolve(speaks);
    };
    session.setTimeout(DEADLINE_MS, end(false));
    session.once("remoteSettings", end(true)).once("close", end(false)).on("error", end(false));
  });
}
