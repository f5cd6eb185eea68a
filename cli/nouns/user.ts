/**
 * `portico user`: who is logged in, with which token and namespace. Also changes the user's own
 * password.
 */
import { type Command, Option } from "commander";
import { isScopeOn, patternOn } from "../../src/contract/admin-resources.js";
import { DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { gatewayCommand } from "../command/command.js";
import type { Io } from "../terminal/io.js";
import { aligned, instant, printItem } from "../terminal/output.js";
import { currentPassword, newPassword } from "../terminal/prompt.js";
import { visible } from "../terminal/text.js";

export function user(io: Io): Command {
  const command = whoAmI(io);
  for (const part of [token, namespace, password]) command.addCommand(part(io));
  return command;
}

const whoAmI = gatewayCommand({
  usage: "user",
  summary: "show who is logged in",
  examples: ["portico user", 'curl -H "Authorization: Bearer $(portico user token)" …', "portico user namespace"],
  async run({ io, client, output }) {
    const me = await client.ask("auth/Auth/WhoAmI");
    const rows: [string, string][] = [
      ["Account", visible(me.account)],
      ["Namespace", visible(me.namespace)],
      ["Scopes", visible(me.scopes.join(", "))],
      ...administered(me.scopes),
      ["Address", client.address],
      ["Token", `until ${instant(me.expires)}`],
    ];
    await printItem(io, output, { name: me.account, value: me, text: aligned(rows, "  ") });
  },
});

/** The resources that the account administers, if it administers some only. */
function administered(scopes: readonly string[]): [string, string][] {
  const patterns = scopes.filter(isScopeOn).map(patternOn);
  return patterns.length === 0 ? [] : [["Administers", visible(`rules, limits and keys of ${patterns.join(", ")}`)]];
}

/** Prints only the token, for `$(portico user token)`. */
const token = gatewayCommand({
  usage: "token",
  summary: "print the token to call with, good for a minute at least",
  examples: ['curl -H "Authorization: Bearer $(portico user token)" …'],
  async run({ io, client, output }) {
    const token = await client.token();
    await printItem(io, output, { name: token, value: { token }, text: [token] });
  },
});

const namespace = gatewayCommand({
  usage: "namespace",
  summary: "print the namespace that calls go to",
  examples: ['curl -H "Platform-Namespace: $(portico user namespace)" …'],
  async run({ io, client, output, namespace: given, stored }) {
    const ofToken = async () => (await client.ask("auth/Auth/WhoAmI")).namespace;
    const implied = io.env.PORTICO_TOKEN ? ofToken : () => stored?.namespace ?? DEFAULT_NAMESPACE;
    const namespace = given ?? (await implied());
    await printItem(io, output, { name: namespace, value: { namespace }, text: [namespace] });
  },
});

const password = gatewayCommand({
  usage: "password",
  summary: "change your password, which logs you out everywhere",
  examples: ["portico user password"],
  options: [new Option("--password-stdin", "read the new one from standard input; the old one is PORTICO_PASSWORD")],
  formats: [],
  readsInput: true,
  async run({ io, client }, options: { passwordStdin?: true }) {
    await client.token();
    const current = await currentPassword(io, "Current password:");
    const next = await newPassword(io, options.passwordStdin === true);
    await client.ask("auth/Accounts/SetPassword", { currentPassword: current, newPassword: next });
    io.stderr.write(`Password changed. Log in again: ${client.loginCommand}\n`);
  },
});
