/** Settings that cannot be used, variables that no program reads, and settings without effect. */
import { SETTINGS } from "../../src/config/config.js";
import type { RoleName, Setting } from "../../src/config/setting.js";
import { nearest } from "../../src/contract/nearest.js";
import { type Finding, findingsOf } from "./finding.js";

const PREFIX = "PORTICO_";

/** Variables of the commands that call a gateway. */
const COMMAND_VARIABLES: readonly string[] = [
  ...["PORTICO_URL", "PORTICO_PROFILE", "PORTICO_NAMESPACE", "PORTICO_TOKEN"],
  ...["PORTICO_ACCOUNT", "PORTICO_PASSWORD"],
];

/**
 * Kubernetes sets variables for each Service of the namespace. For one called `portico-gateway`:
 * PORTICO_GATEWAY_SERVICE_HOST, PORTICO_GATEWAY_PORT_8080_TCP and others.
 */
const OF_KUBERNETES = /^PORTICO_(?:\w+_)?(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT(?:_\w+)?)$/;

/** @param role undefined where no role runs */
export function checkVariables(role: RoleName | undefined, env: NodeJS.ProcessEnv): readonly Finding[] {
  const { warning } = findingsOf("settings");
  const settings = new Map<string, Setting<unknown>>(Object.values(SETTINGS).map((one) => [one.variable, one]));
  const known = [...settings.keys(), ...COMMAND_VARIABLES].map((variable) => variable.slice(PREFIX.length));
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !OF_KUBERNETES.test(name) && env[name])
    .sort()
    .flatMap((name) => {
      const setting = settings.get(name);
      if (setting === undefined) {
        if (COMMAND_VARIABLES.includes(name)) return [];
        return [warning(`Nothing reads ${name}: correct its name, or remove it${meant(name, known)}`)];
      }
      if (role === undefined || setting.roles.includes(role)) return [];
      return [
        warning(`${name} has no effect on portico ${role}: remove it there. It fits: ${setting.roles.join(", ")}`),
      ];
    });
}

/** What begins every name makes none of them similar. */
function meant(name: string, known: readonly string[]): string {
  const similar = nearest(name.slice(PREFIX.length), known);
  return similar === undefined ? "" : `; did you mean ${PREFIX}${similar}?`;
}
