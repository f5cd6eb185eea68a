/**
 * A machine on which a fault of docs/operating.md is played. The messages that are expected and the
 * commands that are run are read from the page, so the page cannot say anything else than what was
 * tried.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { Test } from "tap";
import { ADMIN_PASSWORD, installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { type Portico, start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { tablesOf } from "./markdown.js";

const PAGE = readFileSync("docs/operating.md", "utf8");
/** What begins an inline code that is a command. */
const COMMAND =
  /^(?:portico|systemctl|curl|df|ss|cp|mount|findmnt|journalctl|timedatectl) (?!edit)|^(?:timedatectl|ss -ltnp)$/;

/** A row of a table: what happened. */
export interface Row {
  readonly what: string;
  readonly seen: string;
  readonly todo: string;
}

/** All rows of the tables under "Repair". */
export const ROWS: readonly Row[] = tablesOf(PAGE)
  .filter(({ header }) => header[0] === "what happened")
  .flatMap(({ rows }) => rows.map(([what = "", seen = "", todo = ""]) => ({ what, seen, todo })));

const codesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

/** The commands in a row. */
export const commandsIn = ({ todo }: Row): string[] => codesIn(todo).filter((code) => COMMAND.test(code));

interface Ran {
  readonly command: string;
  readonly exit: number | null;
  readonly output: string;
}

export class Incident {
  readonly t: Test;
  readonly folder: string;
  /** The data folder, `/var/lib/portico` on the page. */
  data: string;
  /** Settings of Portico's processes, and the environment of commands. */
  readonly env: Record<string, string>;
  /** What the words in capitals stand for, and other texts of the page. */
  readonly values: Record<string, string> = {};
  /** What commands do that act on the whole machine, and units, by the beginning of the command. */
  readonly machine: Record<string, () => unknown> = {};
  readonly #row: Row;
  readonly #commands: string[];

  private constructor(t: Test, row: Row, folder: string, ports: readonly number[]) {
    this.t = t;
    this.#row = row;
    this.#commands = commandsIn(row);
    this.folder = folder;
    this.data = join(folder, "data");
    const [http, grpc, admin] = ports.map((port) => `127.0.0.1:${port}`);
    this.env = {
      ...{ PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: folder, PORTICO_DATA: this.data },
      ...{ PORTICO_HTTP: http!, PORTICO_GRPC: grpc!, PORTICO_ADMIN: admin!, PORTICO_URL: `http://${http}` },
      ...{ PORTICO_PASSWORD: ADMIN_PASSWORD, PORTICO_LEASE: "4s", PORTICO_DRAIN: "1s", PORTICO_AUTHORITY: grpc! },
    };
  }

  static async begin(t: Test, row: Row): Promise<Incident> {
    const folder = temporaryFolder(t);
    const ports = [await freePort(), await freePort(), await freePort()];
    const incident = new Incident(t, row, folder, ports);
    await installation(incident.data);
    mkdirSync(join(folder, "bin"));
    const program = join(folder, "bin", "portico");
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${resolve("dist/portico.js")}' "$@"\n`);
    chmodSync(program, 0o755);
    return incident;
  }

  get url(): string {
    return this.env.PORTICO_URL!;
  }

  /** Starts a role; it ends with the test. */
  async start(
    role: string,
    env: Record<string, string> = {},
    words: readonly string[] = role.split(" "),
  ): Promise<Portico> {
    const { NODE_OPTIONS = "", ...rest } = env;
    const portico = await start(words, { ...this.env, ...rest, NODE_OPTIONS });
    this.t.teardown(() => portico.stop("SIGKILL"));
    return portico;
  }

  /** Runs a command beside the page's. @throws {Error} if it fails */
  async does(command: string): Promise<string> {
    const { exit, output } = await this.#shell(command);
    if (exit !== 0) throw new Error(`${command}: ${output}`);
    return output;
  }

  /** Runs a command that may fail, and returns what it printed. */
  async tries(command: string): Promise<string> {
    return (await this.#shell(command)).output;
  }

  /** Checks that the texts contain each message of the row. @param from, to which messages */
  sees(texts: readonly unknown[], from = 0, to?: number): void {
    const all = texts.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n");
    for (const message of codesIn(this.#row.seen)
      .filter((code) => !COMMAND.test(code))
      .slice(from, to)) {
      const pattern = message.split("…").map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      this.t.match(all, new RegExp(pattern.join("[^]*?")), `somewhere it says ${message}`);
    }
  }

  /** Runs the next commands of the row, all that are left by default. */
  async follows(count = this.#commands.length): Promise<Ran[]> {
    const ran: Ran[] = [];
    for (const command of this.#commands.splice(0, count)) {
      const { exit, output } = await this.#run(command);
      this.t.equal(exit, 0, `${command}: ${output}`);
      ran.push({ command, exit, output });
    }
    return ran;
  }

  /** Fails unless all commands of the row were run. */
  end(): void {
    this.t.same(this.#commands, [], "each command of the row was tried");
  }

  async #run(command: string): Promise<Omit<Ran, "command">> {
    const acts = Object.entries(this.machine).find(([name]) => command.startsWith(name))?.[1];
    if (acts !== undefined) {
      await acts();
      return { exit: 0, output: "" };
    }
    const local = this.#localized(command);
    if (/^portico (?:server|gateway)/.test(command)) {
      const words = local.split(" ").slice(1);
      await this.start("", { PORTICO_ADMIN: "127.0.0.1:0", PORTICO_HTTP: "127.0.0.1:0" }, words);
      return { exit: 0, output: "" };
    }
    return this.#shell(local, /set password|user password/.test(command) ? " --password-stdin" : "");
  }

  #localized(command: string): string {
    let local = command.replaceAll("/var/lib/portico", this.data).replaceAll("/var/backups", this.folder);
    local = local.replaceAll("/srv", this.folder).replaceAll("127.0.0.1:8082", this.env.PORTICO_ADMIN!);
    local = local.replaceAll(/127\.0\.0\.1:90\d\d/g, "127.0.0.1:0");
    for (const [word, value] of Object.entries(this.values)) local = local.replaceAll(word, value);
    return local;
  }

  async #shell(command: string, flags = ""): Promise<Omit<Ran, "command">> {
    const child = spawn("sh", ["-ec", command + flags], { env: this.env, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.end(flags === "" ? "" : NEW_PASSWORD);
    const ended = once(child, "close");
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [exit] = (await ended) as [number | null];
    return { exit, output: out + err };
  }
}

/** The password that commands of the page set. */
export const NEW_PASSWORD = "a new one, of many letters";

/** Whether a file system may be mounted here. */
export const canMount =
  spawnSync("unshare", ["-m", "sh", "-ec", "mount -t tmpfs none /mnt"], { stdio: "ignore" }).status === 0;
