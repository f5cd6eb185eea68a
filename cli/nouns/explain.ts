/** `portico auth explain`: which rule decides, and which others match. */
import { type Command, Option } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { printItem, printList } from "../terminal/output.js";
import { visible } from "../terminal/text.js";
import { RULE_COLUMNS, type Rule } from "./rule.js";

interface Explanation {
  readonly code: number;
  readonly decidedBy?: Rule;
  readonly matched: readonly Rule[];
}

export function explain(io: Io): Command {
  const command = dataCommand("explain <resource>", "tell which rule decides about a call", [
    new Option("--account <name>", "who calls (default: nobody, a call without a token)"),
  ]);
  examples(
    command,
    "portico auth explain --account bob service:helloworld:Helloworld.Call",
    "portico auth explain service:helloworld:Helloworld.Call",
  );
  return command.action(async (resource: string, { account }: { account?: string }) => {
    const { client, output } = connect(io, command);
    const answer = await client.authority<Explanation>("Rules/Explain", { account, resource });
    const { decidedBy, matched } = answer;
    await printItem(io, output, { name: decidedBy?.id ?? "", value: answer, text: [sentence(answer)] });
    if (output !== undefined || matched.length === 0) return;
    io.stdout.write("\n");
    await printList(io, undefined, matched, RULE_COLUMNS);
  });
}

function sentence({ code, decidedBy }: Explanation): string {
  const what = code === 200 ? "Granted" : `Refused with ${code}`;
  return decidedBy === undefined ? `${what}: no rule matches` : `${what} by rule ${visible(decidedBy.id)}`;
}
