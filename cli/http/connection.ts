/** Where a command finds its gateway and its login: flag, then PORTICO_* variable, then profile, then default. */
import { type Command, Option } from "commander";
import { newCommand, pathOf } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { refuseInput } from "../terminal/input.js";
import type { Io } from "../terminal/io.js";
import { type Format, outputOption } from "../terminal/output.js";
import { Client } from "./client.js";
import { Profile, type ProfileData } from "./profile.js";
import { FixedToken, GivenToken, isFresh, type Session, StoredLogin } from "./session.js";

const DEFAULT_URL = "http://127.0.0.1:8080";

interface Settings {
  readonly url?: string;
  readonly profile?: string;
  readonly namespace?: string;
  readonly output?: Format;
}

export interface Connection {
  readonly client: Client;
  readonly login: StoredLogin;
  /** What the profile says; undefined before the first login. */
  readonly stored: ProfileData | undefined;
  /** The namespace asked for by flag or variable. */
  readonly asked: string | undefined;
  readonly output: Format;
}

/** A command that calls the gateway. */
export function clientCommand(usage: string, summary: string, options: readonly Option[] = []): Command {
  const command = newCommand(usage, summary);
  for (const option of [...options, ...connectionOptions()]) command.addOption(option);
  return command;
}

/** The same, for a command that prints data. */
export function dataCommand(usage: string, summary: string, options: readonly Option[] = []): Command {
  return clientCommand(usage, summary, [...options, outputOption()]);
}

export function connectionOptions(): Option[] {
  return [
    new Option("--url <url>", "the gateway's address (PORTICO_URL)"),
    new Option("--profile <name>", "which login to use (PORTICO_PROFILE)"),
    new Option("--namespace <name>", "which namespace to use (PORTICO_NAMESPACE)"),
  ].map((option) => option.helpGroup("Connection:"));
}

/**
 * @param input whether the command reads standard input; where it does not, data redirected to it is refused.
 * @throws {CommandError} when a setting cannot be used.
 */
export function connect(io: Io, command: Command, input: "read" | "ignored" = "ignored"): Connection {
  if (input === "ignored") refuseInput(io, `${pathOf(command)} does not read standard input. Redirect nothing to it`);
  const { env, signal } = io;
  const { given, profile, stored, base } = locate(io, command);
  const login = new StoredLogin(base, profile);
  const session: Session = env.PORTICO_TOKEN ? new GivenToken(base, env.PORTICO_TOKEN) : login;
  const asked = given.namespace || env.PORTICO_NAMESPACE || undefined;
  const loggedOut = !env.PORTICO_TOKEN && stored?.login === undefined;
  const namespace = asked ?? (loggedOut ? stored?.namespace : undefined);
  return { client: new Client({ base, session, namespace, signal }), login, stored, asked, output: given.output };
}

/**
 * A client for completion: it neither renews a login nor says anything about one.
 * @throws {CommandError} when a setting cannot be used.
 */
export function connectQuietly(io: Io, command: Command): Client {
  const { env, signal } = io;
  const { stored, base } = locate(io, command);
  const kept = stored?.url === base.href ? stored.login : undefined;
  const session = new FixedToken(env.PORTICO_TOKEN || (kept && isFresh(kept) ? kept.token : undefined));
  return new Client({ base, session, namespace: undefined, signal });
}

function locate({ env }: Io, command: Command) {
  const given = settingsOf(command);
  const profile = new Profile(given.profile || env.PORTICO_PROFILE || "default", env);
  const stored = profile.read();
  return { given, profile, stored, base: readUrl(given.url || env.PORTICO_URL || stored?.url || DEFAULT_URL) };
}

/** Options may also stand before the command, as in `portico --profile work helloworld call`. */
function settingsOf(command: Command): Settings {
  return { ...(command.parent ? settingsOf(command.parent) : {}), ...command.opts<Settings>() };
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw new CommandError(`The address "${text}" must be like ${DEFAULT_URL} or https://api.example.com`, EXIT.usage);
  }
  return url;
}
