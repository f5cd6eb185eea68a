/** `portico auth list rules`: in the order in which they are looked at. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printList } from "../terminal/output.js";
import { RULE_COLUMNS, type Rule } from "./rule.js";

export function listRules(io: Io): Command {
  const command = dataCommand("rules", "list the rules, in the order in which they are looked at");
  examples(command, "portico auth list rules", "portico auth list rules -o json");
  return command.action(async () => {
    const { client, output } = connect(io, command);
    const { rules } = await client.authority<{ rules: Rule[] }>("Rules/List");
    await printList(io, output, rules, RULE_COLUMNS);
    if (rules.length === 0) io.stderr.write("No rules: every call is refused\n");
  });
}
