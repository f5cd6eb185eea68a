/** `portico user`: who is logged in. */
import type { Command } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { instant, printItem } from "../terminal/output.js";
import { visible } from "../terminal/text.js";
import { userNamespace } from "./user-namespace.js";
import { userPassword } from "./user-password.js";
import { userToken } from "./user-token.js";

interface WhoAmI {
  readonly namespace: string;
  readonly account: string;
  readonly scopes: readonly string[];
  readonly expires: string;
}

export function user(io: Io): Command {
  const command = dataCommand("user", "show who is logged in");
  examples(
    command,
    "portico user",
    'curl -H "Authorization: Bearer $(portico user token)" …',
    "portico user namespace",
  );
  for (const part of [userToken(io), userNamespace(io), userPassword(io)]) command.addCommand(part);
  return command.action(async () => {
    const { client, output } = connect(io, command);
    const me = await client.authority<WhoAmI>("WhoAmI");
    const text = [
      `Account    ${visible(me.account)}`,
      `Namespace  ${visible(me.namespace)}`,
      `Scopes     ${visible(me.scopes.join(", "))}`,
      `Address    ${client.address}`,
      `Token      until ${instant(me.expires)}`,
    ];
    await printItem(io, output, { name: me.account, value: me, text });
  });
}
