/** `portico auth create rule`. */
import { type Command, Option } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem } from "../terminal/output.js";
import { dryRunOption, printPreview } from "./preview.js";
import type { Rule } from "./rule.js";
import { warnUnserved } from "./served.js";

interface Options {
  readonly access: "granted" | "denied";
  readonly scope: string;
  readonly resource: string;
  readonly priority: string;
  readonly dryRun?: boolean;
}

export function createRule(io: Io): Command {
  const command = dataCommand("rule <id>", "create a rule; it holds everywhere when this returns", [
    new Option("--access <access>", "granted or denied").choices(["granted", "denied"]).makeOptionMandatory(),
    new Option("--scope <scope>", "'<public>' everyone, '*' anyone logged in, or a scope").makeOptionMandatory(),
    new Option("--resource <pattern>", "type:name:endpoint, each a word, word*, or *").makeOptionMandatory(),
    new Option("--priority <number>", "higher is looked at first (default 0)").default("0"),
    dryRunOption(),
  ]);
  examples(
    command,
    "portico auth create rule --access=granted --scope='*' \\",
    "    --resource='*:*:*' onlyloggedin",
    "portico auth create rule --access=denied --scope='<public>' --priority=10 \\",
    "    --resource='service:helloworld:*' closed --dry-run",
  );
  return command.action(async (id: string, { access, scope, resource, priority, dryRun }: Options) => {
    const connection = connect(io, command);
    const { client, output } = connection;
    const rule = { id, access: access.toUpperCase(), scope, resource, priority };
    if (dryRun) {
      await printPreview(io, connection, { create: rule });
    } else {
      const created = await client.authority<Rule>("Rules/Create", { rule });
      await printItem(io, output, { name: created.id, value: created, text: ["Rule created"] });
    }
    await warnUnserved(io, client, [resource]);
  });
}
