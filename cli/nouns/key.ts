/**
 * An API key. A command identifies it by its prefix, or by its name if only one key has that name.
 */
import { Option } from "commander";
import { readPages } from "../../src/api/pages.js";
import type { CreateKeyResponse, Key } from "../../src/api/types.js";
import { didYouMean } from "../../src/contract/nearest.js";
import { CompletedOption, resources, type Source } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import type { CommandConnection } from "../command/connection.js";
import type { GatewayClient } from "../http/client.js";
import { collect, parseDuration } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { type Column, instant, printItem } from "../terminal/output.js";
import { accountNames } from "./account.js";
import { listCommand, type Noun, printSecret } from "./noun.js";
import { warnUnserved } from "./unserved.js";

const COLUMNS: readonly Column<Key>[] = [
  ["Prefix", ({ prefix }) => prefix],
  ["Name", ({ name }) => name],
  ["Account", ({ account }) => account],
  ["Expires", ({ expires }) => instant(expires)],
  ["Last used", ({ lastUsed }) => instant(lastUsed) || "never"],
  ["Resources", ({ resources }) => resources.join(", ") || "all"],
  ["From", ({ from }) => from.join(", ") || "anywhere"],
  ["State", ({ admin, disabled }) => stateOf(admin, disabled)],
];

function stateOf(admin: boolean, disabled: boolean): string {
  return [admin ? "admin" : "", disabled ? "disabled" : ""].filter(Boolean).join(", ") || "active";
}

function list(client: GatewayClient): Promise<readonly Key[]> {
  return readPages(async (pageToken) => {
    const { keys, nextPageToken } = await client.ask("auth/Keys/List", { pageToken });
    return { items: keys, nextPageToken };
  });
}

/** Completes a key by its prefix, or by its name if only one key has that name. */
export const namesAndPrefixes: Source = async ({ connect }) => {
  const keys = await list(connect());
  const counts = new Map<string, number>();
  for (const { name } of keys) counts.set(name, (counts.get(name) ?? 0) + 1);
  const unique = keys.filter(({ name }) => counts.get(name) === 1);
  return [
    ...unique.map(({ name, prefix, account }) => ({ text: name, about: `${prefix} of ${account}` })),
    ...keys.map(({ name, prefix, account }) => ({ text: prefix, about: `${name} of ${account}` })),
  ];
};

/** @throws {CommandError} when no key has the name, or when several have it. */
async function prefixOf(client: GatewayClient, given: string): Promise<string> {
  if (given.startsWith("ptk_")) return given;
  const keys = await list(client);
  const [key, ...others] = keys.filter(({ name }) => name === given);
  if (key === undefined) {
    const names = keys.map(({ name }) => name);
    throw new CommandError(`no key with the name ${given}${didYouMean(given, names)}`);
  }
  if (others.length === 0) return key.prefix;
  const prefixes = [key, ...others].map(({ prefix }) => prefix).join(", ");
  throw new CommandError(`Several keys have the name ${given}. Give the prefix of one: ${prefixes}`, EXIT.usage);
}

function printCreated(connection: CommandConnection, response: CreateKeyResponse): Promise<void> {
  const { secret, key } = response;
  const words = `This key is good until ${instant(key.expires)}.`;
  return printSecret(connection, { secret, response, words, deletion: `portico auth delete key ${key.prefix}` });
}

interface CreateOptions {
  readonly account?: string;
  readonly lifetime?: string;
  readonly resource?: readonly string[];
  readonly admin?: true;
  readonly from?: readonly string[];
}

export const key: Noun = {
  list: listCommand({
    plural: "keys",
    summary: "list your API keys; an administrator's shows everyone's",
    list,
    columns: COLUMNS,
  }),

  create: gatewayCommand({
    usage: "key <name>",
    summary: "create an API key; prints it once",
    examples: [
      "portico auth create key ci",
      "portico auth create key nightly --account=acme",
      "portico auth create key ci --lifetime=30d --resource='service:helloworld:*'",
      "portico auth create key deploy --account=robot --from=192.0.2.0/24",
      "portico auth create key rules --admin    administers what you administer",
      "KEY=$(portico auth create key ci)",
    ],
    options: [
      new CompletedOption("--account <account>", "whose key it is (default: yours)", accountNames),
      new Option("--lifetime <time>", "1d to 365d (default 90d)").argParser(parseDuration),
      new CompletedOption("--resource <pattern>", "limit it to what matches; again for more", resources).argParser(
        collect,
      ),
      new Option("--from <cidr>", "only for clients at these addresses; again for more").argParser(collect),
      new Option("--admin", "let it administer what its account may; other keys only call"),
    ],
    async run(connection, name: string, { account, lifetime, resource, admin, from }: CreateOptions) {
      const { client } = connection;
      const request = { name, account, lifetime, resources: resource, admin, from };
      await printCreated(connection, await client.ask("auth/Keys/Create", request));
      await warnUnserved(connection, resource ?? []);
    },
  }),

  delete: gatewayCommand({
    usage: "key <key>",
    summary: "revoke an API key; nothing accepts it when this returns",
    examples: ["portico auth delete key ci", "portico auth delete key ptk_4fGh81    by its prefix"],
    completion: [namesAndPrefixes],
    async run({ io, client, output }, key: string) {
      const prefix = await prefixOf(client, key);
      const response = await client.ask("auth/Keys/Revoke", { prefix });
      await printItem(io, output, { name: prefix, value: response, text: ["Key deleted"] });
    },
  }),

  rotate: gatewayCommand({
    usage: "key <key>",
    summary: "replace an API key by a new one; prints it once",
    examples: ["portico auth rotate key ci", "portico auth rotate key ptk_4fGh81 --overlap=24h"],
    options: [
      new Option("--overlap <time>", "how long the old one lives on, such as 24h (default 0s)").argParser(
        parseDuration,
      ),
    ],
    completion: [namesAndPrefixes],
    async run(connection, key: string, { overlap }: { overlap?: string }) {
      const { client } = connection;
      const prefix = await prefixOf(client, key);
      await printCreated(connection, await client.ask("auth/Keys/Rotate", { prefix, overlap }));
    },
  }),
};
