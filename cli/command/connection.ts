/**
 * Where a command gets its gateway and its login from: a flag, otherwise a PORTICO_* variable,
 * otherwise the profile, otherwise a default.
 */
import { type Command, Option } from "commander";
import type { Namespace } from "../../src/api/types.js";
import { GatewayClient } from "../http/client.js";
import { Profile, type ProfileData, profileNames } from "../http/profile.js";
import { FixedToken, GivenToken, isFresh, type Session, StoredLogin } from "../http/session.js";
import { pathOf } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import { refuseInput } from "../terminal/input.js";
import type { Io } from "../terminal/io.js";
import type { Format } from "../terminal/output.js";
import { quoted } from "../terminal/text.js";
import { CompletedOption, type NamedItems, namesOf } from "./candidates.js";

const DEFAULT_URL = "http://127.0.0.1:8080";

interface Settings {
  readonly url?: string;
  readonly profile?: string;
  readonly namespace?: string;
  readonly output?: Format;
}

/** What a command needs for calling the gateway. */
export interface CommandConnection {
  readonly io: Io;
  readonly client: GatewayClient;
  readonly login: StoredLogin;
  /** The content of the profile, or undefined before the first login. */
  readonly stored: ProfileData | undefined;
  /** The profile and the namespace, if given by flag or variable. */
  readonly profile: string | undefined;
  readonly namespace: string | undefined;
  readonly output: Format;
}

export const namespaces: NamedItems<Namespace> = {
  list: async (client) => (await client.ask("auth/Namespaces/List")).namespaces,
  nameOf: ({ name }) => name,
};

/** Options of every command that calls the gateway. */
export function connectionOptions(): Option[] {
  return [
    new Option("--url <url>", "the gateway's address (PORTICO_URL)"),
    new CompletedOption("--profile <name>", "which login to use (PORTICO_PROFILE)", ({ env }) =>
      profileNames(env).map((text) => ({ text })),
    ),
    new CompletedOption("--namespace <name>", "which namespace to use (PORTICO_NAMESPACE)", namesOf(namespaces)),
  ].map((option) => option.helpGroup("Connection:"));
}

/**
 * @param readsInput whether the command reads standard input. If not, data redirected to it is
 * rejected.
 * @throws {CommandError} when a setting cannot be used.
 */
export function connect(io: Io, command: Command, readsInput: boolean): CommandConnection {
  if (!readsInput) refuseInput(io, `${pathOf(command)} does not read standard input. Redirect nothing to it`);
  const { env, signal } = io;
  const { given, profile, stored, base, by } = locate(io, command);
  const loginCommand = loginCommandOf(given, by);
  const login = new StoredLogin(base, profile, loginCommand);
  const session: Session = env.PORTICO_TOKEN ? new GivenToken(base, env.PORTICO_TOKEN) : login;
  const namespace = given.namespace || env.PORTICO_NAMESPACE || undefined;
  const loggedOut = !env.PORTICO_TOKEN && stored?.login === undefined;
  // A token belongs to a namespace. Without a token, the namespace of the profile is called.
  const called = namespace ?? (loggedOut ? stored?.namespace : undefined);
  const client = new GatewayClient({ base, session, namespace: called, loginCommand, signal });
  const named = given.profile || env.PORTICO_PROFILE || undefined;
  return { io, client, login, stored, profile: named, namespace, output: given.output };
}

/** What a call needs that neither renews a login nor prints anything about it. */
export interface QuietConnection {
  readonly base: URL;
  /** Undefined if there is none that is still valid by this computer's clock. */
  readonly token: string | undefined;
  /** If given by flag or variable. */
  readonly namespace: string | undefined;
  readonly loginCommand: string;
}

/** @throws {CommandError} when a setting cannot be used. */
export function locateQuietly(io: Io, command: Command): QuietConnection {
  const { env } = io;
  const { given, stored, base, by } = locate(io, command);
  const kept = stored?.url === base.href ? stored.login : undefined;
  const token = env.PORTICO_TOKEN || (kept && isFresh(kept) ? kept.token : undefined);
  const namespace = given.namespace || env.PORTICO_NAMESPACE || undefined;
  return { base, token, namespace, loginCommand: loginCommandOf(given, by) };
}

/**
 * A client for completion.
 * @throws {CommandError} when a setting cannot be used.
 */
export function connectQuietly(io: Io, command: Command): GatewayClient {
  const { base, token, loginCommand } = locateQuietly(io, command);
  const session = new FixedToken(token);
  return new GatewayClient({ base, session, namespace: undefined, loginCommand, signal: io.signal });
}

function locate({ env }: Io, command: Command) {
  const given = settingsOf(command);
  const named = given.profile || env.PORTICO_PROFILE;
  const profile = new Profile(named || "default", env);
  const stored = profile.read();
  // Only a login makes a profile.
  if (named && stored === undefined && command.name() !== "login") throw noProfile(named, given, env);
  const base = readUrl(given.url || env.PORTICO_URL || stored?.url || DEFAULT_URL);
  return { given, profile, stored, base, by: stored?.url === base.href ? stored.by : undefined };
}

function noProfile(named: string, given: Settings, env: NodeJS.ProcessEnv): CommandError {
  const names = profileNames(env);
  const known = names.length === 0 ? "there is none yet" : `there are: ${names.sort().join(", ")}`;
  const advice = `To make it, log in: ${loginCommandOf({ ...given, profile: named })}`;
  return new CommandError(`There is no profile ${named}; ${known}. ${advice}`, EXIT.login);
}

/**
 * The command that logs in at the same gateway, as the person did last. It reads the same
 * variables, so they are not repeated.
 */
function loginCommandOf({ url, profile }: Settings, by?: ProfileData["by"]): string {
  const flags = [url && `--url ${quoted(url)}`, profile && `--profile ${profile}`, by && `--${by}`].filter(Boolean);
  return ["portico login", ...flags].join(" ");
}

/** Options may also come before the command, as in `portico --profile work helloworld call`. */
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
