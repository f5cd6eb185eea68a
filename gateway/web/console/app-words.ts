/** How the console says which program a grant is for, and what it may call. */
import type { Grant, KeyUsage } from "../../../src/api/types.js";
import { CLI_CLIENT } from "../../../src/contract/names.js";
import { parsePattern } from "../../../src/contract/resource.js";
import { agentScopeOf, isDocumentUrl } from "../../../src/contract/scope.js";

type Client = Pick<Grant, "clientId" | "clientName">;

/** What is known of the program: the host of its document, or the name it was registered by. */
export function nameOfApp({ clientId }: Pick<Grant, "clientId">): string {
  if (clientId === CLI_CLIENT) return "Portico's command line";
  return isDocumentUrl(clientId) ? new URL(clientId).host : clientId;
}

/** The name that the program gives itself, where nobody has checked it; else undefined. */
export function claimedName(grant: Client): string | undefined {
  const { clientId, clientName } = grant;
  return ["", clientId, nameOfApp(grant)].includes(clientName) ? undefined : clientName;
}

/** The words for each pattern of a grant; of none, for everything. */
export function mayCall({ resources }: Pick<Grant, "resources">): string[] {
  return resources.length === 0
    ? ["Everything its account may: administration and API keys too"]
    : resources.map(inWords);
}

function inWords(pattern: string): string {
  const { type, name, endpoint } = parsePattern(pattern);
  if (name === "*" && endpoint === "*") {
    return type === "*" ? "Everything its account may: administration and API keys too" : "All services";
  }
  if (type !== "service" && type !== "*") return pattern;
  if (endpoint !== "*") return `${name}: ${pattern.split(":")[2]}`;
  return name.endsWith("*") ? `Services ${name}` : name;
}

/** The calls of the program for its account; 0 if usage has none. */
export function callsOfApp(grant: Pick<Grant, "account" | "clientId">, usage: readonly KeyUsage[]): number {
  const found = usage.find(({ key, account }) => key === agentScopeOf(grant.clientId) && account === grant.account);
  return Number(found?.calls.total ?? 0);
}
