/** An account: a person or program that logs in, and its scopes. */
import { Option } from "commander";
import { readPages } from "../../src/api/pages.js";
import type { Account } from "../../src/api/types.js";
import { isScopeOn, scopeInWords, scopeOn } from "../../src/contract/admin-resources.js";
import {
  CompletedOption,
  type NamedItems,
  namesOf,
  resources,
  type Source,
  withSuggestion,
} from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import type { GatewayClient } from "../http/client.js";
import { collect } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { type Column, instant, printItem } from "../terminal/output.js";
import { newPassword } from "../terminal/prompt.js";
import { deleteCommand, listCommand, type Noun } from "./noun.js";

const COLUMNS: readonly Column<Account>[] = [
  ["Name", ({ name }) => name],
  ["Scopes", ({ scopes }) => scopes.map(scopeInWords).join(", ")],
  ["State", ({ withoutPassword, disabled }) => stateOf(withoutPassword, disabled)],
  ["Created", ({ created }) => instant(created)],
];

function stateOf(withoutPassword: boolean, disabled: boolean): string {
  return [withoutPassword ? "service" : "", disabled ? "disabled" : ""].filter(Boolean).join(", ") || "active";
}

export const accounts: NamedItems<Account> = {
  list: (client) =>
    readPages(async (pageToken) => {
      const { accounts, nextPageToken } = await client.ask("auth/Accounts/List", { pageToken });
      return { items: accounts, nextPageToken };
    }),
  nameOf: ({ name }) => name,
  about: ({ scopes }) => scopes.map(scopeInWords).join(", "),
};

export const accountNames: Source = namesOf(accounts);

/** The scopes of rules that apply whatever scopes an account has, each with its meaning. */
export const EVERYONE: ReadonlyMap<string, string> = new Map([
  ["<public>", "everyone"],
  ["*", "anyone logged in"],
]);

/** `<public>`, `*`, and the scopes that accounts have. */
export const scopes: Source = async ({ connect }) => {
  const listed = await accounts.list(connect()).catch(() => []);
  const held = [...new Set(listed.flatMap(({ scopes }) => scopes))];
  return [...Array.from(EVERYONE, ([text, about]) => ({ text, about })), ...held.map((text) => ({ text }))];
};

interface PasswordOptions {
  readonly passwordStdin?: true;
}

/** What `set account` changes: exactly one of them. */
interface SetOptions {
  readonly disabled?: true;
  readonly enabled?: true;
  readonly link?: string;
  readonly on?: readonly string[];
  /** Of all issuers if true. */
  readonly unlink?: string | true;
}

interface CreateOptions extends PasswordOptions {
  readonly scope?: readonly string[];
  readonly on?: readonly string[];
  readonly service?: true;
}

const onOption = (words: string) => new CompletedOption("--on <pattern>", words, resources).argParser(collect);

const setScopes = gatewayCommand({
  usage: "scopes <account> [scopes...]",
  summary: "replace the scopes that an account holds",
  examples: ["portico auth set scopes bob billing support", "portico auth set scopes bob    none at all"],
  completion: [accountNames, scopes],
  async run({ io, client, output }, name: string, scopes: readonly string[]) {
    const account = await client.ask("auth/Accounts/SetScopes", { name, scopes });
    await printItem(io, output, { name, value: account, text: ["Scopes set"] });
  },
});

/** For an account whose owner has forgotten the password. */
const setPassword = gatewayCommand({
  usage: "password <account>",
  summary: "set an account's password, and log it out everywhere",
  examples: ["portico auth set password bob"],
  options: [new Option("--password-stdin", "read the password from standard input")],
  completion: [accountNames],
  readsInput: true,
  async run({ io, client, output }, name: string, { passwordStdin }: PasswordOptions) {
    await client.token();
    const password = await newPassword(io, passwordStdin === true);
    const response = await client.ask("auth/Accounts/SetPassword", { name, newPassword: password });
    await printItem(io, output, { name, value: response, text: ["Password set"] });
  },
});

const setAccount = gatewayCommand({
  usage: "account <account>",
  summary: "disable or enable an account, say which person it is, or let it administer resources",
  examples: [
    "portico auth set account bob --disabled",
    "portico auth set account bob --enabled    its keys work again",
    "portico auth set account bob --link=google:108204268033311374519",
    "portico auth set account dora --on='service:orders:*'",
    "portico auth set account dora --on=    administers no resources any more",
    "portico auth set account bob --unlink=google    ends what came of it",
  ],
  options: [
    new Option("--disabled", "end its logins, and refuse its keys; when this returns, nothing accepts them").conflicts(
      "enabled",
    ),
    new Option("--enabled", "let it log in, and accept its keys again"),
    new Option("--link <issuer:sub>", "let the person with this claim sub at the issuer sign in to it").conflicts([
      "disabled",
      "enabled",
    ]),
    new Option(
      "--unlink [issuer]",
      "end its links to people of this issuer, or of all; when this returns, nothing accepts what came of them",
    ).conflicts(["disabled", "enabled", "link"]),
    onOption("administers rules, limits and keys of these alone; again for more").conflicts([
      "disabled",
      "enabled",
      "link",
      "unlink",
    ]),
  ],
  completion: [accountNames],
  async run({ io, client, output }, name: string, { disabled, enabled, link, unlink, on }: SetOptions) {
    if (on !== undefined) {
      const value = await withSuggestion(setAdministered(client, name, on), name, client, accounts);
      return printItem(io, output, { name, value, text: [administeredText(on)] });
    }
    if (link !== undefined) {
      const value = await withSuggestion(linkAccount(client, name, link), name, client, accounts);
      return printItem(io, output, { name, value, text: ["Account linked"] });
    }
    if (unlink !== undefined) {
      const request = client.ask("auth/Accounts/Unlink", { name, issuer: unlink === true ? "" : unlink });
      const value = await withSuggestion(request, name, client, accounts);
      const text = `Account unlinked from ${value.people === 1 ? "1 person" : `${value.people} people`}`;
      return printItem(io, output, { name, value, text: [text] });
    }
    if (!disabled && !enabled) {
      throw new CommandError("Nothing to set. Give --disabled, --enabled, --link, --unlink or --on", EXIT.usage);
    }
    // Asked before: afterwards, a disabled account cannot ask.
    const own = disabled ? await client.ask("auth/Auth/WhoAmI") : undefined;
    const request = client.ask("auth/Accounts/SetDisabled", { name, disabled: disabled === true });
    const account = await withSuggestion(request, name, client, accounts);
    const isOwn = own?.account === name;
    const words = isOwn ? "Account disabled. It was your own: log in with another one" : "Account disabled";
    await printItem(io, output, { name, value: account, text: [disabled ? words : "Account enabled"] });
  },
});

/** Replaces the resources that an account administers. Its other scopes stay. */
async function setAdministered(client: GatewayClient, name: string, on: readonly string[]): Promise<Account> {
  const held = (await accounts.list(client)).find((account) => account.name === name)?.scopes;
  const others = (held ?? []).filter((scope) => !isScopeOn(scope));
  const expected = held && { scopes: held };
  // The authority refuses an unknown account.
  return client.ask("auth/Accounts/SetScopes", { name, scopes: [...others, ...scopesOn(on)], expected });
}

/** An empty pattern is none: `--on=`. */
function scopesOn(on: readonly string[]): string[] {
  return on.filter((pattern) => pattern !== "").map(scopeOn);
}

function administeredText(on: readonly string[]): string {
  const patterns = on.filter((pattern) => pattern !== "");
  return patterns.length === 0 ? "Account administers no resources" : `Account administers ${patterns.join(", ")}`;
}

/** @param link `<issuer>:<sub>`, whose subject may contain colons */
function linkAccount(client: GatewayClient, name: string, link: string) {
  const colon = link.indexOf(":");
  if (colon < 1 || colon === link.length - 1) {
    throw new CommandError(
      "--link must be an issuer and its subject, such as google:108204268033311374519",
      EXIT.usage,
    );
  }
  const [issuer, subject] = [link.slice(0, colon), link.slice(colon + 1)];
  return client.ask("auth/Accounts/Link", { name, issuer, subject });
}

export const account: Noun = {
  list: listCommand({
    plural: "accounts",
    summary: "list the accounts and the scopes they hold",
    list: accounts.list,
    columns: COLUMNS,
  }),

  create: gatewayCommand({
    usage: "account <name>",
    summary: "create an account; asks for its password, unless it has none",
    examples: [
      "portico auth create account bob",
      "portico auth create account alice --scope=admin --scope=billing",
      "portico auth create account dora --scope=admin:rules    administers rules",
      "portico auth create account dora --on='service:orders:*'    only of these",
      "portico auth create account ci --password-stdin < password.txt",
      "portico auth create account acme --service",
    ],
    options: [
      new CompletedOption("--scope <scope>", "scope it holds; again for more", scopes).argParser(collect),
      onOption("administers rules, limits and keys of these alone; again for more"),
      new Option("--password-stdin", "read its password from standard input"),
      new Option("--service", "an account for a program: without a password, it cannot log in").conflicts(
        "passwordStdin",
      ),
    ],
    readsInput: true,
    async run({ io, client, output }, name: string, { scope, on = [], service, passwordStdin }: CreateOptions) {
      await client.token();
      const password = service ? undefined : await newPassword(io, passwordStdin === true);
      const scopes = [...(scope ?? []), ...scopesOn(on)];
      const request = { name, password, scopes, withoutPassword: service };
      const created = await client.ask("auth/Accounts/Create", request);
      await printItem(io, output, { name, value: created, text: ["Account created"] });
    },
  }),

  delete: deleteCommand({
    usage: "account <name>",
    summary: "delete an account with its logins and keys",
    examples: ["portico auth delete account bob"],
    completion: [accountNames],
    collection: accounts,
    done: "Account deleted",
    request: ({ client }, name) => client.ask("auth/Accounts/Delete", { name }),
  }),

  set: [setScopes, setPassword, setAccount],
};
