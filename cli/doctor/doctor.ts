/** `portico doctor`: runs the checks that fit the place where it runs, side by side. */
import { dirname } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { type Config, type Flags, loadConfig, SETTINGS } from "../../src/config/config.js";
import { ConfigError, type RoleName, STORE } from "../../src/config/setting.js";
import { storeFileOf } from "../../src/store/open.js";
import { isPostgresUrl } from "../../src/store/postgres-url.js";
import type { QuietConnection } from "../command/connection.js";
import { checkAuthorities } from "./authorities.js";
import { checkCertificates } from "./certificates.js";
import { checkFolder } from "./disk.js";
import { checkNames } from "./dns.js";
import { type Check, type Finding, findingsFrom, findingsOf } from "./finding.js";
import { checkGateway, checkGatewayCertificate } from "./gateway.js";
import { checkPorts } from "./ports.js";
import { checkRole } from "./role.js";
import { checkVariables } from "./settings.js";
import { checkServiceStore, checkStore } from "./store.js";

/** Where the command runs. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** The gateway to call; undefined where its address cannot be known. */
  readonly gateway: QuietConnection | undefined;
}

/** The role whose machine this is. */
export interface LocalRole {
  readonly role: RoleName;
  /** The service's name, for the role `service`. */
  readonly service: string | undefined;
  readonly flags: Flags;
}

/** @param local undefined to look at a gateway from elsewhere */
export async function examine(place: Surroundings, local: LocalRole | undefined): Promise<readonly Finding[]> {
  const checks = [
    ...variableChecks(place, local),
    ...(local ? localChecks(place, local) : outsideOnly()),
    ...gatewayChecks(place),
  ];
  return (await Promise.all(checks.map(([name, check]) => findingsFrom(name, check)))).flat();
}

type NamedCheck = readonly [name: string, check: Check];

function variableChecks({ env }: Surroundings, local: LocalRole | undefined): NamedCheck[] {
  return [
    ["settings", async () => checkVariables(local?.role, env)],
    ["versions", async () => [checkNode(process.versions.node)]],
  ];
}

function outsideOnly(): NamedCheck[] {
  const text =
    "Ports, certificates, store, disk and settings belong to the machine of a role. To check them, run there, such as: portico doctor server";
  return [["machine", async () => [findingsOf("machine").unchecked(text)]]];
}

function localChecks({ env, signal }: Surroundings, { role, service, flags }: LocalRole): NamedCheck[] {
  const { ok, problem } = findingsOf("settings");
  let config: Config;
  try {
    config = loadConfig(flags, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { message } = error;
    const rest = findingsOf("machine").unchecked(
      "Nothing else of this machine was checked, because a setting is wrong",
    );
    return [["settings", async () => [problem(`${message}. Correct it: the role does not start`), rest]]];
  }
  const common: NamedCheck[] = [
    ["settings", async () => [ok(`Every setting of portico ${role} can be used`)]],
    ["ready", () => checkRole(role, config, signal)],
    ["ports", () => checkPorts(role, config, signal)],
    ["certificates", async () => checkCertificates(role, config)],
    ["DNS", () => checkNames(role, config)],
  ];
  return [
    ...common,
    ...(STORE.includes(role) ? storeChecks(role, config, signal) : joiningChecks(role, service, config)),
  ];
}

function storeChecks(role: RoleName, config: Config, signal: AbortSignal): NamedCheck[] {
  const { data, store } = config;
  const folder = isPostgresUrl(store) ? data : dirname(storeFileOf("authority", store, data));
  return [
    ["store", () => checkStore(config, signal)],
    ...(role === "server" ? [["store", () => checkServiceStore(config)] as const] : []),
    ["disk", () => checkFolder(data, SETTINGS.data.variable)],
    ...(folder === data ? [] : [["disk", () => checkFolder(folder, SETTINGS.store.variable)] as const]),
  ];
}

function joiningChecks(role: RoleName, service: string | undefined, config: Config): NamedCheck[] {
  const elsewhere =
    "The authority's store and clock are not on this machine. Beside the authority, run: portico doctor authority";
  return [
    ["authority", () => checkAuthorities(service ?? role, config)],
    ...(service === undefined ? [] : [["disk", () => checkFolder(config.data, SETTINGS.data.variable)] as const]),
    ["store", async () => [findingsOf("store").unchecked(elsewhere)]],
  ];
}

function gatewayChecks({ gateway, signal }: Surroundings): NamedCheck[] {
  if (gateway === undefined) {
    const text = "No call was made, because no gateway is known here. To call one, add: --url ADDRESS";
    return [["call", async () => [findingsOf("call").unchecked(text)]]];
  }
  return [
    ["gateway", () => checkGateway(gateway, signal)],
    ["certificates", () => checkGatewayCertificate(gateway)],
  ];
}

/** The version of Node, against the oldest that Portico supports. */
export function checkNode(version: string): Finding {
  const { ok, problem } = findingsOf("versions");
  const oldest = packageJson.engines.node.replace(">=", "");
  const [[major = 0, minor = 0], [least = 0, lesser = 0]] = [version, oldest].map((text) =>
    text.split(".").map(Number),
  ) as [number[], number[]];
  if (major > least || (major === least && minor >= lesser))
    return ok(`Portico ${packageJson.version} runs on Node ${version}`);
  return problem(`Portico needs Node ${oldest} or later, and this is ${version}: install a newer Node`);
}
