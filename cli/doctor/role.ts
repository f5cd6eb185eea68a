/** What the process of a role says about itself at its admin port. */
import { formatAddress } from "../../src/address/address.js";
import { type Config, SETTINGS } from "../../src/config/config.js";
import { type RoleName, STORE } from "../../src/config/setting.js";
import { send } from "../http/request.js";
import { CommandError } from "../terminal/exit.js";
import { DEADLINE_MS, type Finding, findingsOf } from "./finding.js";
import { reachable } from "./ports.js";

/** Whether the process is ready, and whether its guard has a lease. */
export async function checkRole(role: RoleName, config: Config, signal: AbortSignal): Promise<readonly Finding[]> {
  const { unchecked } = findingsOf("ready");
  const { variable } = SETTINGS.admin;
  if (config.admin.port === 0) return [unchecked(`Where the admin port is cannot be known: ${variable} has port 0`)];
  const response = await askProcess(config, signal);
  if (response !== undefined) return readinessFindings(role, config, response.status, response.said);
  const address = adminAddress(config);
  return [unchecked(`No process responds at ${address} (${variable}). Start it with: portico ${role}`)];
}

/** Whether a process of Portico responds at the admin port of the settings. */
export async function isRunning(config: Config, signal: AbortSignal): Promise<boolean> {
  return config.admin.port !== 0 && (await askProcess(config, signal))?.said.Status !== undefined;
}

/** Where this machine reaches the admin port. */
export function adminAddress({ admin }: Config): string {
  return formatAddress(reachable(admin));
}

interface ReadinessResponse {
  readonly status: number;
  readonly said: Readiness;
}

async function askProcess(config: Config, signal: AbortSignal): Promise<ReadinessResponse | undefined> {
  try {
    const request = { method: "GET", path: "/readyz", timeoutMs: DEADLINE_MS, signal } as const;
    const { status, body } = await send(new URL(`http://${adminAddress(config)}`), request);
    return { status, said: parse(body) };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return undefined;
  }
}

interface Readiness {
  readonly Status?: string;
  readonly Reasons?: readonly string[];
  readonly Detail?: string;
}

function readinessFindings(role: RoleName, config: Config, status: number, said: Readiness): readonly Finding[] {
  const { ok, warning, problem } = findingsOf("ready");
  if (said.Status === "degraded")
    return (said.Reasons ?? []).map((reason) => warning(`Calls are served, but ${reason}`));
  if (said.Status === "ready") return [ok("The process serves calls"), leaseFinding(role, config)];
  return [problem(`/readyz of the process is ${status}: ${said.Detail ?? "not Portico's response"}`)];
}

function leaseFinding(role: RoleName, { lease }: Config): Finding {
  const { ok } = findingsOf("lease");
  if (!STORE.includes(role)) return ok("The process has a lease of the authority");
  const time = `${lease / 1000} s`;
  return ok(`Gateways decide for ${time} without the authority, and then refuse (${SETTINGS.lease.variable})`);
}

function parse(body: string): Readiness {
  try {
    return (JSON.parse(body) as Readiness | null) ?? {};
  } catch {
    return {};
  }
}
