/**
 * A limit of calls: how much may be called, by whom, and who shares it. A new limit can be a shadow
 * first, which refuses nothing.
 */
import { isDeepStrictEqual } from "node:util";
import { InvalidArgumentError, Option } from "commander";
import { readPages } from "../../src/api/pages.js";
import type { Limit, LimitUse, ListedLimit, Per } from "../../src/api/types.js";
import { usualBurst } from "../../src/limits/rate.js";
import { CompletedOption, type NamedItems, namesOf, resources, withSuggestion } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import type { CommandConnection } from "../command/connection.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { type Column, printItem, printList } from "../terminal/output.js";
import { accountNames, scopes } from "./account.js";
import { namesAndPrefixes } from "./key.js";
import { deleteCommand, listCommand, type Noun } from "./noun.js";
import { warnUnheld, warnUnserved } from "./unserved.js";

const limits: NamedItems<ListedLimit> = {
  list: (client) =>
    readPages(async (pageToken) => {
      const { limits, nextPageToken } = await client.ask("auth/Limits/List", { pageToken });
      return { items: limits, nextPageToken };
    }),
  nameOf: ({ limit }) => limit.id,
  about: ({ limit }) => `${allowed(limit)} per ${sharedBy(limit)}`,
};

const COLUMNS: readonly Column<ListedLimit>[] = [
  ["ID", ({ limit }) => limit.id],
  ["Allows", ({ limit }) => allowed(limit)],
  ["Per", ({ limit }) => sharedBy(limit)],
  ["Scope", ({ limit }) => limit.scope],
  ["Resource", ({ limit }) => limit.resource],
  ["Refused", ({ limit, refused }) => (limit.shadow ? `${refused} (shadow)` : refused)],
];

/** The limits that apply to a caller, and what is left of them. */
export const USE_COLUMNS: readonly Column<LimitUse>[] = [
  ["Limit", ({ limit }) => (limit.shadow ? `${limit.id} (shadow)` : limit.id)],
  ["Allows", ({ limit }) => allowed(limit)],
  ["Per", ({ limit, subject }) => [sharedBy(limit), subject].filter((word) => word !== "").join(" ")],
  ["Left", left],
];

/** `100/s, burst 200, 1000000/month, 20 at once` */
function allowed({ rate, burst, quota, concurrent }: Limit): string {
  const hasBurst = rate !== "" && burst !== usualBurst(rate);
  return [rate, hasBurst && `burst ${burst}`, quota, concurrent > 0 && `${concurrent} at once`]
    .filter((part) => part !== "" && part !== false)
    .join(", ");
}

function sharedBy({ per }: Limit): string {
  return per.toLowerCase();
}

function left({ limit, rateLeft, quotaLeft, concurrentLeft }: LimitUse): string {
  return [
    rateLeft !== undefined && `${rateLeft} now`,
    quotaLeft !== undefined && `${quotaLeft} this ${limit.quota.split("/")[1]}`,
    concurrentLeft !== undefined && `${concurrentLeft} at once`,
  ]
    .filter((part) => part !== false)
    .join(", ");
}

/** As typed: the authority reports what is wrong with it. */
interface Fields {
  readonly rate?: string;
  readonly burst?: string;
  readonly quota?: string;
  readonly concurrent?: string;
  readonly per?: string;
  readonly scope?: string;
  readonly resource?: string;
  readonly shadow?: boolean;
}

const perOption = () =>
  new Option("--per <subject>", "who shares it").choices(["account", "key", "address", "namespace", "everyone"]);

const fieldOptions = () => [
  new Option("--rate <rate>", "calls in a second, minute, hour or day: 100/s, 5/m, 1/h, 10/d"),
  new Option("--burst <calls>", "how many may come at once (default: one second's)").argParser(wholeNumber),
  new Option("--quota <quota>", "calls in a calendar day or month, UTC: 5000/day, 9000/month"),
  new Option("--concurrent <calls>", "how many may be open at once").argParser(wholeNumber),
  new CompletedOption("--scope <scope>", "whose calls: '<public>' everyone, '*' anyone logged in", scopes),
  new CompletedOption("--resource <pattern>", "which calls: type:name:endpoint (default *:*:*)", resources),
  new Option("--shadow", "only count whom it would refuse"),
];

/** An empty text is 0, which means none. */
function wholeNumber(text: string): string {
  if (!/^\d*$/.test(text)) throw new InvalidArgumentError("Must be a whole number.");
  return text || "0";
}

/** The named fields as the request has them, without the other options of the command. */
function fieldsOf({ rate, burst, quota, concurrent, per, scope, resource, shadow }: Fields): Partial<Limit> {
  const number = concurrent as unknown as number;
  const fields = { rate, burst, quota, concurrent: number, per: per?.toUpperCase() as Per, scope, resource, shadow };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** A burst that was one second's calls of the rate before is one second's of the new rate. */
function burstAfter(fields: Partial<Limit>, before: Limit | undefined): Partial<Limit> {
  if (fields.rate === undefined || fields.burst !== undefined || before === undefined) return {};
  return fields.rate === "" || before.burst === usualBurst(before.rate) ? { burst: "0" } : {};
}

async function warn(connection: CommandConnection, { resource, scope }: Limit): Promise<void> {
  await warnUnserved(connection, [resource]);
  await warnUnheld(connection, scope);
}

const SHADOW = "it refuses nothing, and counts whom it would refuse";

export const limit: Noun = {
  list: listCommand({
    plural: "limits",
    summary: "list the limits, and how many calls each has refused",
    list: limits.list,
    columns: COLUMNS,
    ifEmpty: "No limits: rules alone decide",
  }),

  create: gatewayCommand({
    usage: "limit <id>",
    summary: "create a limit; it holds everywhere when this returns",
    examples: [
      "portico auth create limit ci --rate=100/s --per=account --shadow",
      "portico auth create limit free --quota=1000/day --per=key --scope=free",
      "portico auth create limit qr --concurrent=20 --per=everyone \\",
      "    --resource='service:qr:*'",
    ],
    options: [perOption().makeOptionMandatory(), ...fieldOptions()],
    async run(connection, id: string, fields: Fields) {
      const { io, client, output } = connection;
      const created = await client.ask("auth/Limits/Create", { limit: { id, ...fieldsOf(fields) } });
      const text = [created.shadow ? `Limit created; ${SHADOW}` : "Limit created"];
      await printItem(io, output, { name: created.id, value: created, text });
      await warn(connection, created);
    },
  }),

  set: gatewayCommand({
    usage: "limit <id>",
    summary: "change a limit; it holds everywhere when this returns",
    examples: [
      "portico auth set limit ci --rate=200/s",
      "portico auth set limit ci --no-shadow",
      "portico auth set limit ci --rate= --quota=1000/day     no rate any more",
    ],
    options: [perOption(), ...fieldOptions(), new Option("--no-shadow", "refuse calls from now on")],
    completion: [namesOf(limits)],
    async run(connection, id: string, options: Fields) {
      const { io, client, output } = connection;
      const fields = fieldsOf(options);
      if (Object.keys(fields).length === 0) {
        const advice = "Nothing to change: give --rate, --quota, --concurrent, --per or another option";
        throw new CommandError(advice, EXIT.usage);
      }
      const expected = (await limits.list(client)).find(({ limit }) => limit.id === id)?.limit;
      // The authority refuses an unknown ID.
      const changed = { ...(expected ?? { id }), ...burstAfter(fields, expected), ...fields };
      const request = client.ask("auth/Limits/Set", { limit: changed, expected });
      const response = await withSuggestion(request, id, client, limits);
      const text = `Limit ${response.id} ${stateOf(response, expected)}`;
      await printItem(io, output, { name: id, value: response, text: [text] });
      await warn(connection, response);
    },
  }),

  delete: deleteCommand({
    usage: "limit <id>",
    summary: "delete a limit; nothing is refused by it when this returns",
    examples: ["portico auth delete limit ci"],
    completion: [namesOf(limits)],
    collection: limits,
    done: "Limit deleted",
    request: ({ client }, id) => client.ask("auth/Limits/Delete", { id }),
  }),
};

function stateOf(limit: Limit, before: Limit | undefined): string {
  if (isDeepStrictEqual(limit, before)) return "has these values already; nothing was changed";
  return limit.shadow ? `changed; ${SHADOW}` : "changed";
}

interface ShowOptions {
  readonly account?: string;
  readonly key?: string;
  readonly address?: string;
}

export const applyingLimits = gatewayCommand({
  usage: "limits",
  summary: "list the limits that apply to a caller, and what is left",
  examples: [
    "portico auth limits                        of your own calls",
    "portico auth limits --account bob",
    "portico auth limits --key ptk_4fGh81 --address 192.0.2.7",
  ],
  options: [
    new CompletedOption("--account <name>", "who calls (default: you)", accountNames),
    new CompletedOption("--key <key>", "an API key that calls: its prefix or its name", namesAndPrefixes),
    new Option("--address <address>", "the client's IP address"),
  ],
  async run({ io, client, output }, { account, key, address }: ShowOptions) {
    const { limits } = await client.ask("auth/Limits/Show", { account, key, address });
    if (limits.length > 0 || output !== undefined) await printList(io, output, limits, USE_COLUMNS);
    else io.stderr.write("No limit applies\n");
  },
});
