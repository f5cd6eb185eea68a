/**
 * Profiles: a user's gateway, and the tokens of the login at it, under `$XDG_CONFIG_HOME/portico`.
 *
 *     profiles/default.json      address, namespace, account, access token
 *     profiles/default.refresh   refresh token
 *
 * A refresh token is valid once, and using it twice revokes the login. So it is in a file of its
 * own, and a process renames this file before it uses the token. Only one process can rename the
 * file, so the file is its own lock.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { makeFolder } from "../../src/folder.js";
import { CommandError, EXIT } from "../terminal/exit.js";

export interface Login {
  /** The access token, `pta_…`. */
  readonly token: string;
  /** Expiry of the access token, RFC 3339. */
  readonly expires: string;
}

export interface ProfileData {
  /** Base address of the gateway. The tokens are never sent to another address. */
  readonly url: string;
  readonly namespace: string;
  readonly account: string;
  /** How the person logged in last, if not by a password: the flag of `portico login`. */
  readonly by?: "web" | "device" | undefined;
  /** Absent after a logout. */
  readonly login?: Login;
}

/** A refresh token that no other process can use until it is released. */
export interface TakenToken {
  readonly token: string;
  /** Stores the next token instead of this one. */
  replace(next: string): void;
  /** Allows other processes to take the token again. */
  release(): void;
  delete(): void;
}

/**
 * After this time, the process that took the token must have died: its call of `Refresh` would have
 * timed out.
 */
const ABANDONED_MS = 15_000;
/** Maximum time that a command waits for another process that has taken the token. */
const TAKE_TIMEOUT_MS = 20_000;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Names of the existing profiles. */
export function profileNames(env: NodeJS.ProcessEnv): string[] {
  const names = ifExists(() => readdirSync(profilesFolder(env))) ?? [];
  return names.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length));
}

function profilesFolder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "portico", "profiles");
}

export class Profile {
  readonly #name: string;
  readonly #folder: string;
  readonly #file: string;
  readonly #refreshFile: string;

  /** @throws {CommandError} when the name is not valid. */
  constructor(name: string, env: NodeJS.ProcessEnv) {
    if (!NAME.test(name)) {
      throw new CommandError(`The profile "${name}" must be 1 to 64 letters, digits, . _ or -`, EXIT.usage);
    }
    this.#name = name;
    this.#folder = profilesFolder(env);
    this.#file = join(this.#folder, `${name}.json`);
    this.#refreshFile = join(this.#folder, `${name}.refresh`);
  }

  /**
   * The content of the profile's file, or undefined when there is no file.
   * @throws {CommandError} when the file is not a profile.
   */
  read(): ProfileData | undefined {
    const text = ifExists(() => readFileSync(this.#file, "utf8"));
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as ProfileData;
    } catch {
      throw new CommandError(`The profile ${this.#file} is damaged. Delete it, then log in: portico login`);
    }
  }

  write(data: ProfileData): void {
    this.#replace(this.#file, `${JSON.stringify(data, null, 2)}\n`);
  }

  writeRefreshToken(token: string): void {
    this.#replace(this.#refreshFile, token);
  }

  /**
   * Takes the refresh token. Waits if another process has it. Returns undefined if there is none.
   * @throws {CommandError} when another process has it for too long.
   */
  async take(): Promise<TakenToken | undefined> {
    for (const end = performance.now() + TAKE_TIMEOUT_MS; performance.now() < end; await wait(25)) {
      const files = this.#refreshFiles();
      if (files.length === 0) return undefined;
      const free = files.filter((file) => file === this.#refreshFile || isAbandoned(file));
      const mine = `${this.#refreshFile}.${randomBytes(8).toString("hex")}`;
      if (free.some((file) => moved(file, mine))) return this.#takenAs(mine);
    }
    throw new CommandError(`Another portico command holds the login of profile ${this.#name}. Try again.`);
  }

  #takenAs(mine: string): TakenToken {
    return {
      token: readFileSync(mine, "utf8"),
      replace: (next) => this.#replace(mine, next),
      release: () => renameSync(mine, this.#refreshFile),
      delete: () => rmSync(mine),
    };
  }

  /**
   * The refresh token's file, under its own name or under the name that a process gave it by taking
   * it.
   */
  #refreshFiles(): string[] {
    const suffix = /^(?:\.[0-9a-f]{16})?$/;
    const own = (file: string) =>
      file.startsWith(this.#refreshFile) && suffix.test(file.slice(this.#refreshFile.length));
    return (ifExists(() => readdirSync(this.#folder)) ?? []).map((name) => join(this.#folder, name)).filter(own);
  }

  /**
   * Writes a file atomically: readers see the old text or the new one, never a part.
   * @throws {CommandError} when it cannot be written. Then nothing has changed.
   */
  #replace(file: string, text: string): void {
    const temporary = `${file}.${randomBytes(4).toString("hex")}.tmp`;
    try {
      makeFolder(this.#folder);
      chmodSync(join(this.#folder, ".."), 0o700); // The folder may have existed, readable by others.
      writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
      renameSync(temporary, file);
    } catch (error) {
      if (existsSync(temporary)) rmSync(temporary);
      throw new CommandError(`The profile ${file} cannot be written: ${(error as Error).message}`);
    }
  }
}

function isAbandoned(file: string): boolean {
  const taken = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return taken !== undefined && taken < Date.now() - ABANDONED_MS;
}

function moved(from: string, to: string): boolean {
  const done = ifExists(() => {
    const now = new Date();
    utimesSync(from, now, now); // Before the rename, so that the file never has an old time under its new name.
    renameSync(from, to);
    return true;
  });
  return done ?? false;
}

/** The result of `action`, or undefined when the file that it needs does not exist. */
function ifExists<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
