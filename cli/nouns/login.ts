/**
 * `portico login` and `portico logout`. A login consists of tokens, which are stored in the
 * profile.
 */
import { Option } from "commander";
import { DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { CompletedOption } from "../command/candidates.js";
import { gatewayCommand } from "../command/command.js";
import { loginByCode, loginInBrowser } from "../http/oauth-login.js";
import type { ProfileData } from "../http/profile.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { ask, canAsk, currentPassword, passwordFromStdin } from "../terminal/prompt.js";
import { visible } from "../terminal/text.js";
import { accountNames } from "./account.js";

interface LoginOptions {
  readonly account?: string;
  readonly passwordStdin?: true;
  readonly web?: true;
  readonly device?: true;
}

/** The browser asks who logs in, and for the password. */
const PASSWORD_OPTIONS = ["account", "passwordStdin"];

export const login = gatewayCommand({
  usage: "login",
  summary: "log in, and stay logged in for 30 days",
  examples: [
    "portico login",
    "portico login --account bob --profile bob",
    "PORTICO_PASSWORD=… portico login",
    "portico login --password-stdin < password.txt",
    "portico login --web    in a browser on this computer",
    "portico login --device    by a code, in a browser anywhere",
  ],
  options: [
    new CompletedOption("--account <name>", "account to log in to (PORTICO_ACCOUNT; default admin)", accountNames),
    new Option("--password-stdin", "read the password from standard input"),
    new Option("--web", "log in by a browser on this computer").conflicts(PASSWORD_OPTIONS),
    new Option("--device", "log in by a code that you type into a browser").conflicts(["web", ...PASSWORD_OPTIONS]),
  ],
  formats: [],
  readsInput: true,
  async run({ io, login, client, stored, namespace = stored?.namespace ?? DEFAULT_NAMESPACE }, options: LoginOptions) {
    if (client.exposed) io.stderr.write(`Beware: ${client.address} is not encrypted. Others may read the password.\n`);
    if (options.web || options.device) {
      const { base } = login;
      const shown = namespace === DEFAULT_NAMESPACE ? undefined : namespace;
      const granted = options.web ? loginInBrowser(base, io, shown) : loginByCode(base, io, shown);
      const data = await login.keepGranted(await granted, options.web ? "web" : "device");
      return printLogin(io, client.address, data);
    }
    const account = options.account || io.env.PORTICO_ACCOUNT || (await askAccount(io, stored?.account));
    const password = options.passwordStdin
      ? await passwordFromStdin(io)
      : await currentPassword(io, "Password:", " or by --password-stdin");
    const data = await login.login({ account, password, namespace }, io.signal);
    printLogin(io, client.address, data);
  },
});

function printLogin(io: Io, address: string, { account, namespace }: ProfileData): void {
  io.stderr.write(`Logged in to ${address} as ${visible(account)} (namespace ${visible(namespace)})\n`);
  if (io.env.PORTICO_TOKEN) io.stderr.write("PORTICO_TOKEN is set: commands use that token, not this login\n");
}

async function askAccount(io: Io, last = "admin"): Promise<string> {
  return canAsk(io) ? ask(io, "Account:", { default: last }) : last;
}

export const logout = gatewayCommand({
  usage: "logout",
  summary: "log out, and revoke the login's tokens",
  examples: ["portico logout", "portico logout --everywhere", "portico logout --profile bob"],
  options: [
    new Option("--everywhere", "end every login, grant and session of the account, on all computers; API keys stay"),
  ],
  formats: [],
  async run({ io, login, client }, { everywhere = false }: { readonly everywhere?: boolean }) {
    try {
      const done = await login.logout(everywhere);
      if (!done && everywhere) throw new CommandError("Log in first: only a login can log out everywhere", EXIT.login);
      const where = everywhere ? " everywhere" : "";
      io.stderr.write(done ? `Logged out${where} of ${client.address}\n` : `Not logged in to ${client.address}\n`);
    } catch (error) {
      if (!(error instanceof CommandError) || error.exit === EXIT.login) throw error;
      throw new CommandError(
        `${error.message}\nThe login is deleted here, but was not revoked: it ends within 30 days.`,
      );
    }
  },
});
