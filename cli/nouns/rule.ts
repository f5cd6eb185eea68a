/**
 * A rule: who may call what. With `--dry-run` a command changes nothing, and prints the callers for
 * whom the decision would change. `portico auth explain` shows the rule that decides.
 *
 * A noun knows no socket: it asks the gateway by cli/http.
 */
import { isDeepStrictEqual } from "node:util";
import { InvalidArgumentError, Option } from "commander";
import { readPages } from "../../src/api/pages.js";
import type { Access, ExplainResponse, Rule } from "../../src/api/types.js";
import { CompletedOption, type NamedItems, namesOf, resources, withSuggestion } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { type Column, printItem, printList } from "../terminal/output.js";
import { visible } from "../terminal/text.js";
import { accountNames, scopes } from "./account.js";
import { printPreview } from "./effects.js";
import { grants } from "./grant.js";
import { namesAndPrefixes } from "./key.js";
import { USE_COLUMNS } from "./limit.js";
import { deleteCommand, listCommand, type Noun } from "./noun.js";
import { warnUnheld, warnUnserved } from "./unserved.js";

/** A disabled rule has no colour. */
const COLOURS: Readonly<Record<string, "green" | "red">> = { GRANTED: "green", DENIED: "red" };

const COLUMNS: readonly Column<Rule>[] = [
  ["ID", ({ id }) => id],
  ["Scope", ({ scope }) => scope],
  ["Access", ({ access, disabled }) => (disabled ? `${access} (disabled)` : access), (cell) => COLOURS[cell]],
  ["Resource", ({ resource }) => resource],
  ["Priority", ({ priority }) => `${priority}`],
];

const rules: NamedItems<Rule> = {
  list: (client) =>
    readPages(async (pageToken) => {
      const { rules, nextPageToken } = await client.ask("auth/Rules/List", { pageToken });
      return { items: rules, nextPageToken };
    }),
  nameOf: ({ id }) => id,
  about: ({ access, scope, resource }) => `${access} ${scope} ${resource}`,
};

const dryRun = new Option("--dry-run", "change nothing; show who would be answered otherwise");

interface CreateOptions {
  readonly access: "granted" | "denied";
  readonly scope: string;
  readonly resource: string;
  readonly priority: string;
  readonly disabled?: boolean;
  readonly dryRun?: true;
}

const fieldOptions = {
  access: () => new Option("--access <access>", "granted or denied").choices(["granted", "denied"]),
  scope: () => new CompletedOption("--scope <scope>", "'<public>' everyone, '*' anyone logged in, or a scope", scopes),
  resource: () =>
    new CompletedOption("--resource <pattern>", "type:name:endpoint, each a word, word*, or *", resources),
  disabled: () =>
    new Option("--disabled [boolean]", "keep the rule, but let it decide nothing")
      .choices(["true", "false"])
      .preset("true")
      .argParser((text: string) => booleanOf(text)),
};

function booleanOf(text: string): boolean {
  if (text !== "true" && text !== "false") throw new InvalidArgumentError("Must be true or false.");
  return text === "true";
}

type SetOptions = Partial<CreateOptions>;

const set = gatewayCommand({
  usage: "rule <id>",
  summary: "change a rule; it holds everywhere when this returns",
  examples: [
    "portico auth set rule default --disabled",
    "portico auth set rule default --disabled=false",
    "portico auth set rule default --scope='*' --dry-run",
  ],
  options: [
    fieldOptions.access(),
    fieldOptions.scope(),
    fieldOptions.resource(),
    new Option("--priority <number>", "higher is looked at first"),
    fieldOptions.disabled(),
    dryRun,
  ],
  completion: [namesOf(rules)],
  async run(connection, id: string, { dryRun, access, scope, resource, priority, disabled }: SetOptions) {
    const { io, client, output } = connection;
    const given = { access: access?.toUpperCase() as Access, scope, resource, priority, disabled };
    const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    if (Object.keys(fields).length === 0) {
      const advice = "Nothing to change: give --access, --scope, --resource, --priority or --disabled";
      throw new CommandError(advice, EXIT.usage);
    }
    const expected = (await rules.list(client)).find((rule) => rule.id === id);
    // The authority refuses an unknown ID.
    const rule = { ...(expected ?? { id }), ...fields } as Rule;
    if (dryRun) return withSuggestion(printPreview(connection, { set: rule }), id, client, rules);
    const request = client.ask("auth/Rules/Set", { rule, expected });
    const response = await withSuggestion(request, id, client, rules);
    await printItem(io, output, {
      name: id,
      value: response,
      text: [`Rule ${visible(id)} ${stateOf(response, expected)}`],
    });
    await warnUnserved(connection, [response.resource]);
    await warnUnheld(connection, response.scope);
  },
});

function stateOf(rule: Rule, before: Rule | undefined): string {
  if (isDeepStrictEqual(rule, before)) return "has these values already; nothing was changed";
  return rule.disabled ? "changed; it is disabled, and decides nothing" : "changed";
}

export const rule: Noun = {
  set,

  list: listCommand({
    plural: "rules",
    summary: "list the rules, in the order in which they are looked at",
    list: rules.list,
    columns: COLUMNS,
    ifEmpty: "No rules: every call is refused",
  }),

  create: gatewayCommand({
    usage: "rule <id>",
    summary: "create a rule; it holds everywhere when this returns",
    examples: [
      "portico auth create rule --access=granted --scope='*' \\",
      "    --resource='*:*:*' onlyloggedin",
      "portico auth create rule --access=denied --scope='<public>' --priority=10 \\",
      "    --resource='service:helloworld:*' closed --dry-run",
    ],
    options: [
      fieldOptions.access().makeOptionMandatory(),
      fieldOptions.scope().makeOptionMandatory(),
      fieldOptions.resource().makeOptionMandatory(),
      new Option("--priority <number>", "higher is looked at first (default 0)").default("0"),
      fieldOptions.disabled(),
      dryRun,
    ],
    async run(connection, id: string, { access, scope, resource, priority, disabled, dryRun }: CreateOptions) {
      const { io, client, output } = connection;
      // The priority is sent as it was typed: the authority reports what is wrong with it.
      const rule = {
        id,
        access: access.toUpperCase() as Access,
        scope,
        resource,
        priority: priority as unknown as number,
        disabled: disabled ?? false,
      };
      if (dryRun) {
        await printPreview(connection, { create: rule });
      } else {
        const created = await client.ask("auth/Rules/Create", { rule });
        await printItem(io, output, { name: created.id, value: created, text: ["Rule created"] });
      }
      await warnUnserved(connection, [resource]);
      await warnUnheld(connection, scope);
    },
  }),

  delete: deleteCommand({
    usage: "rule <id>",
    summary: "delete a rule; nothing is granted by it when this returns",
    examples: ["portico auth delete rule default --dry-run", "portico auth delete rule default"],
    options: [dryRun],
    completion: [namesOf(rules)],
    collection: rules,
    done: "Rule deleted",
    async request(connection, id, { dryRun }: { dryRun?: true }) {
      if (dryRun) return printPreview(connection, { delete: id });
      return connection.client.ask("auth/Rules/Delete", { id });
    },
  }),
};

export const explain = gatewayCommand({
  usage: "explain <resource>",
  summary: "tell which rule decides about a call, and which limits count it",
  examples: [
    "portico auth explain --account bob service:helloworld:Helloworld.Call",
    "portico auth explain --key deploy service:helloworld:Helloworld.Call",
    "portico auth explain --grant g4f1c02d98b7a6e53 helloworld:Helloworld.Call",
    "portico auth explain helloworld:Helloworld.Call",
  ],
  options: [
    new CompletedOption("--account <name>", "who calls (default: nobody, a call without a token)", accountNames),
    new CompletedOption("--key <key>", "an API key that calls: its prefix or its name", namesAndPrefixes),
    new CompletedOption("--grant <id>", "an agent that calls for who made this grant", namesOf(grants)),
  ],
  completion: [resources],
  async run(connection, name: string, { account, key, grant }: { account?: string; key?: string; grant?: string }) {
    const { io, client, output } = connection;
    const resource = resourceOf(name);
    const response = await client.ask("auth/Rules/Explain", { account, key, grant, resource });
    const { decidedBy, matched, disabled } = response;
    await printItem(io, output, { name: decidedBy?.id ?? "", value: response, text: [decision(response)] });
    if (output === undefined && (key ?? grant) !== undefined) {
      io.stdout.write("\n");
      await printList(io, undefined, response.chain, CHECK_COLUMNS);
    }
    const shown = [...matched, ...disabled];
    if (output === undefined && shown.length > 0) {
      io.stdout.write("\n");
      await printList(io, undefined, shown, COLUMNS);
    }
    if (output === undefined && response.limits.length > 0) {
      io.stdout.write("\n");
      await printList(io, undefined, response.limits, USE_COLUMNS);
    }
    await warnUnserved(connection, [resource]);
  },
});

/** Errors name an endpoint `helloworld:Helloworld.Call`, without the type of its resource. */
function resourceOf(name: string): string {
  return name.split(":").length === 2 ? `service:${name}` : name;
}

const RESULTS: Readonly<Record<string, string>> = { PASSED: "passed", FAILED: "failed", NOT_REACHED: "-" };

/** The checks of a call, in order. */
const CHECK_COLUMNS: readonly Column<ExplainResponse["chain"][number]>[] = [
  ["Check", ({ name }) => name],
  ["Result", ({ state }) => RESULTS[state] ?? ""],
  ["Why", ({ detail }) => detail],
];

function decision({ code, decidedBy, key, limited, chain }: ExplainResponse): string {
  const what = code === 200 ? "Granted" : `Refused with ${code}`;
  if (limited && key !== undefined) {
    return visible(`${what}: API key ${key.name} (${key.prefix}) is limited to ${key.resources.join(", ")}`);
  }
  const agentLimit = limited && chain.find(({ name }) => name === "limits")?.detail;
  if (agentLimit) return visible(`${what}: ${agentLimit}`);
  const ended = chain.find(({ name, state }) => name === "key" && state === "FAILED");
  if (ended !== undefined) return visible(`${what}: API key ${ended.detail}`);
  return decidedBy === undefined ? `${what}: no rule matches` : `${what} by rule ${visible(decidedBy.id)}`;
}
