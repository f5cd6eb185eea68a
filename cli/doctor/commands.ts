/** `portico doctor`: its words, and the table that it prints. */
import type { Command } from "commander";
import { formatAddress } from "../../src/address/address.js";
import { type Flags, loadConfig } from "../../src/config/config.js";
import { ConfigError, HTTP_PORT, type RoleName } from "../../src/config/setting.js";
import { CompletedArgument } from "../command/candidates.js";
import { connectionOptions, locateQuietly, type QuietConnection } from "../command/connection.js";
import { optionOf, ownServices } from "../roles/commands.js";
import { examples, newCommand } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { type Column, type Format, outputOption, printList } from "../terminal/output.js";
import type { Finding, FindingState } from "./finding.js";

const ROLES: readonly RoleName[] = ["server", "gateway", "authority", "service"];

/** @param onExit receives 1 if there is a problem */
export function doctor(io: Io, onExit: (code: number) => void): Command {
  const command = newCommand("doctor", "say what is wrong, and what to do; changes nothing")
    .addArgument(new CompletedArgument("[role]", () => ROLES.map((text) => ({ text }))))
    .addArgument(new CompletedArgument("[service]", ownServices));
  for (const key of ["data", "store", "config"] as const) command.addOption(optionOf(key));
  for (const option of [outputOption(["json", "yaml"]), ...connectionOptions()]) command.addOption(option);
  examples(
    command,
    "portico doctor --url https://api.example.com    a gateway, from its callers",
    "portico doctor server                           on the machine of the server",
    "portico doctor gateway                          on the machine of a gateway",
    "portico doctor service helloworld -o json",
  );
  command.addHelpText(
    "after",
    "\nWith a role, run it as the user of the role and with its settings: it also\nchecks ports, certificates, store, disk, DNS and clock. It ends with 1 if there\nis a problem.",
  );
  return command.action(async (role: string | undefined, service: string | undefined, flags: Flags & Output) => {
    const { examine } = await import("./doctor.js");
    const local = role === undefined ? undefined : { ...readRole(role, service), flags };
    const place = { env: io.env, signal: io.signal, gateway: gatewayOf(io, command, local) };
    const findings = sorted(await examine(place, local));
    await printList(io, flags.output, findings, COLUMNS);
    if (findings.some(({ state }) => state === "problem")) onExit(EXIT.failed);
  });
}

interface Output {
  readonly output?: Format;
}

interface Named {
  readonly role: RoleName;
  readonly service: string | undefined;
}

/** @throws {CommandError} for words that name no role */
function readRole(text: string, service: string | undefined): Named {
  const role = ROLES.find((known) => known === text);
  if (role === undefined)
    throw new CommandError(`There is no role ${text}; there are: ${ROLES.join(", ")}`, EXIT.usage);
  if (role === "service" && service === undefined)
    throw new CommandError("Name the service: portico doctor service helloworld", EXIT.usage);
  if (role !== "service" && service !== undefined)
    throw new CommandError(`Too many arguments: portico ${role} is no service`, EXIT.usage);
  return { role, service };
}

/**
 * The gateway to call: the given one, or else the one of this machine.
 * @throws {CommandError} when a setting of the connection cannot be used
 */
function gatewayOf(
  io: Io,
  command: Command,
  local: (Named & { readonly flags: Flags }) | undefined,
): QuietConnection | undefined {
  const given = command.optsWithGlobals<{ readonly url?: string }>().url || io.env.PORTICO_URL;
  if (local === undefined || given) return locateQuietly(io, command);
  const url = HTTP_PORT.includes(local.role) ? ownUrl(local.flags, io.env) : undefined;
  if (url === undefined) return undefined;
  command.setOptionValue("url", url);
  return locateQuietly(io, command);
}

/**
 * Where a gateway with these settings can be called. Undefined if only a host name leads there that
 * no setting has, or if a setting is wrong.
 */
function ownUrl(flags: Flags, env: NodeJS.ProcessEnv): string | undefined {
  try {
    const { publicUrl, http, httpTlsCert } = loadConfig(flags, env);
    if (publicUrl !== undefined) return publicUrl;
    if ("path" in http || http.port === 0 || httpTlsCert !== undefined) return undefined;
    const host = ["0.0.0.0", "::"].includes(http.host) ? "127.0.0.1" : http.host;
    return `http://${formatAddress({ host, port: http.port })}`;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** What must be mended comes first. */
const ORDER: readonly FindingState[] = ["problem", "warning", "ok", "unchecked"];

function sorted(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
}

const COLUMNS: readonly Column<Finding>[] = [
  ["CHECK", ({ check }) => check],
  ["STATE", ({ state }) => state, (cell) => (({ problem: "red", ok: "green" }) as const)[cell.trim()]],
  ["FINDING", ({ text }) => text],
];
