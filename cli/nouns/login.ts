/** `portico login`: trades account and password for tokens, kept in the profile. */
import { type Command, Option } from "commander";
import { clientCommand, connect } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { ask, canAsk, currentPassword, passwordFromStdin } from "../terminal/prompt.js";
import { visible } from "../terminal/text.js";

export function login(io: Io): Command {
  const command = clientCommand("login", "log in, and stay logged in for 30 days", [
    new Option("--account <name>", "account to log in to (PORTICO_ACCOUNT; default admin)"),
    new Option("--password-stdin", "read the password from standard input"),
  ]);
  examples(
    command,
    "portico login",
    "portico login --account bob --profile bob",
    "PORTICO_PASSWORD=… portico login",
    "portico login --password-stdin < password.txt",
  );
  return command.action(async (options: { account?: string; passwordStdin?: true }) => {
    const { login, client, stored, asked } = connect(io, command, "read");
    if (client.exposed) io.stderr.write(`Beware: ${client.address} is not encrypted. Others may read the password.\n`);
    const account = options.account || io.env.PORTICO_ACCOUNT || (await askAccount(io, stored?.account));
    const password = options.passwordStdin
      ? await passwordFromStdin(io)
      : await currentPassword(io, "Password:", " or by --password-stdin");
    const data = await login.login(
      { account, password, namespace: asked ?? stored?.namespace ?? "default" },
      io.signal,
    );
    io.stderr.write(
      `Logged in to ${client.address} as ${visible(data.account)} (namespace ${visible(data.namespace)})\n`,
    );
    if (io.env.PORTICO_TOKEN) io.stderr.write("PORTICO_TOKEN is set: commands use that token, not this login\n");
  });
}

async function askAccount(io: Io, last = "admin"): Promise<string> {
  return canAsk(io) ? ask(io, "Account:", { default: last }) : last;
}
