/** An issuer (OpenID Connect), by which people sign in, and whose JWTs trusts accept. */
import { readFileSync } from "node:fs";
import { Option } from "commander";
import type { Issuer } from "../../src/api/types.js";
import { type NamedItems, namesOf } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { CallFailure } from "../http/failure.js";
import { collect } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { fileProblem } from "../terminal/file-problem.js";
import { type Column, instant, printItem } from "../terminal/output.js";
import { deleteCommand, listCommand, type Noun } from "./noun.js";

const COLUMNS: readonly Column<Issuer>[] = [
  ["Name", ({ name }) => name],
  ["URL", ({ url }) => url],
  ["Client", ({ signIn }) => signIn?.clientId ?? ""],
  ["Callback", ({ callbackPath }) => callbackPath ?? ""],
  ["Created", ({ created }) => instant(created)],
];

export const issuers: NamedItems<Issuer> = {
  list: async (client) => (await client.ask("auth/Issuers/List")).issuers,
  nameOf: ({ name }) => name,
};

interface SignInOptions {
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly accountClaim?: string;
  readonly trustClaim?: true;
  readonly groupsClaim?: string;
  readonly map?: readonly string[];
  readonly createAccounts?: true;
  readonly mayAdminister?: true;
}

interface CreateOptions extends SignInOptions {
  readonly issuerUrl: string;
}

/** How people sign in; undefined where they do not. @throws {CommandError} */
function signInOf({ clientId, clientSecretFile, map = [], ...others }: SignInOptions) {
  if (clientId !== undefined) return { clientId, map: map.map(groupScope), ...others };
  if (clientSecretFile === undefined && map.length === 0 && Object.keys(others).length === 0) return undefined;
  throw new CommandError(
    "Give --client-id too: only an issuer that knows this installation signs people in",
    EXIT.usage,
  );
}

/** @throws {CommandError} */
function groupScope(text: string): { group: string; scope: string } {
  // The name of a group may contain =, as in LDAP.
  const at = text.lastIndexOf("=");
  if (at < 1 || at === text.length - 1) {
    throw new CommandError(`--map must be a group and a scope, such as staff=employee, not ${text}`, EXIT.usage);
  }
  return { group: text.slice(0, at), scope: text.slice(at + 1) };
}

/** The file's text, without the line break at its end. @throws {CommandError} */
function secretIn(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new CommandError(`--client-secret-file: ${fileProblem(error, path)}`, EXIT.usage);
  }
}

/** The flags whose fields have other names in the API. */
const FLAGS: Readonly<Record<string, string>> = { url: "--issuer-url", client_secret: "--client-secret-file" };

/** A failure that names a field also names its flag. */
function inFlags(failure: unknown): unknown {
  const flag = failure instanceof CallFailure ? FLAGS[failure.message.split(":")[0] ?? ""] : undefined;
  return flag === undefined ? failure : (failure as CallFailure).with(` (${flag})`);
}

export const issuer: Noun = {
  list: listCommand({
    plural: "issuers",
    summary: "list the issuers for people and for programs",
    ...issuers,
    columns: COLUMNS,
  }),

  create: gatewayCommand({
    usage: "issuer <name>",
    summary: "name an issuer, whose people sign in or whose JWTs trusts accept",
    examples: [
      "portico auth create issuer github \\",
      "    --issuer-url=https://token.actions.githubusercontent.com",
      "portico auth create issuer google --issuer-url=https://accounts.google.com \\",
      "    --client-id=1234.apps.googleusercontent.com \\",
      "    --client-secret-file=secret.txt",
    ],
    options: [
      new Option("--issuer-url <url>", "the claim iss of its JWTs").makeOptionMandatory(),
      new Option("--client-id <id>", "the ID that the issuer gave to Portico: people sign in by it"),
      new Option("--client-secret-file <file>", "a file with the secret for that ID"),
      new Option("--account-claim <claim>", "the claim with the name of a new account (default: email)"),
      new Option("--trust-claim", "use another claim than email; only if nobody can set it for himself"),
      new Option("--groups-claim <claim>", "the claim with a person's groups (default: groups)"),
      new Option("--map <group=scope>", "scope that a group gives; again for more").argParser(collect),
      new Option("--create-accounts", "create an account for everybody who signs in"),
      new Option("--may-administer", "let groups give scopes of administration, services and agents"),
    ],
    async run({ io, client, output }, name: string, { issuerUrl: url, ...options }: CreateOptions) {
      const request = { name, url, signIn: signInOf(options), clientSecret: secretIn(options.clientSecretFile) };
      const value = await client.ask("auth/Issuers/Create", request).catch((error) => Promise.reject(inFlags(error)));
      const text = value.signIn
        ? `Issuer created. Register this callback URL there: ${await client.publicUrl()}${value.callbackPath}`
        : "Issuer created. Nothing is accepted from it before a trust names it: portico auth create trust";
      await printItem(io, output, { name, value, text: [text] });
    },
  }),

  delete: deleteCommand({
    usage: "issuer <name>",
    summary: "delete an issuer with its trusts and links, and end their tokens",
    examples: ["portico auth delete issuer github"],
    completion: [namesOf(issuers)],
    collection: issuers,
    done: "Issuer deleted",
    request: ({ client }, name) => client.ask("auth/Issuers/Delete", { name }),
  }),
};
