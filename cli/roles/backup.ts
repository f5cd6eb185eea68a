/** `portico backup FILE`: copies a store in SQLite to one file, also while Portico runs. */

import { dirname, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { factsOf } from "../../services/auth/backup.js";
import { type Config, type Flags, loadConfig } from "../../src/config/config.js";
import { makeFolder } from "../../src/folder.js";
import {
  type BackupHeader,
  checkReplaceable,
  draftOf,
  removeLeftovers,
  writeBackup,
} from "../../src/store/backup-file.js";
import { openStoreOf, storeFileOf } from "../../src/store/open.js";
import { isPostgresUrl } from "../../src/store/postgres-url.js";
import { copySqlite } from "../../src/store/sqlite-backup.js";
import { removeSqlite } from "../../src/store/sqlite-file.js";
import { StoreError, type StoreKind } from "../../src/store/store.js";

import { CommandError } from "../terminal/exit.js";
import { fileProblem } from "../terminal/file-problem.js";
import type { Io } from "../terminal/io.js";
import { openRoleLog } from "./log.js";

export interface BackupFlags extends Flags {
  /** Whether the store belongs to services, not to the authority. */
  readonly services?: true;
}

/** What a store has. */
type Contents = Pick<BackupHeader, "installation" | "revision">;

/**
 * Writes the backup, and reads it again.
 * @throws {ConfigError|CommandError} when the store or the file cannot be used. Then an earlier
 *   backup of that name is as it was.
 */
export async function backup(path: string, { services, ...flags }: BackupFlags, io: Io): Promise<void> {
  const kind: StoreKind = services ? "services" : "authority";
  const config = loadConfig(flags, io.env);
  const store = storeFileFor(kind, config, "backup");
  const file = resolve(path);
  const content = draftOf(file);
  try {
    makeFolder(dirname(file));
    removeLeftovers(file);
    await copySqlite(kind, store, content);
    const contents = await contentsOf(kind, content, config, io);
    await checkReplaceable(file, { kind, ...contents });
    const time = new Date();
    const about = { kind, version: packageJson.version, ...contents, time: time.toISOString() };
    const bytes = await writeBackup(file, about, content);
    io.stdout.write(summary({ store, file, kind, contents, bytes }));
  } catch (error) {
    throw asCommandError(error, file);
  } finally {
    removeSqlite(content);
  }
}

/**
 * The file of the store.
 * @throws {CommandError} if it is on Postgres
 */
export function storeFileFor(kind: StoreKind, config: Config, command: "backup" | "restore"): string {
  const url = kind === "services" ? config.serviceStore : config.store;
  if (!isPostgresUrl(url)) return storeFileOf(kind, url, config.data);
  const tool = command === "backup" ? "pg_dump" : "pg_restore";
  throw new CommandError(
    `portico ${command} is for stores in SQLite. On Postgres use ${tool}: docs/operating.md has the commands`,
  );
}

/** Opens a copy of a store as Portico does, and reads what it has. */
async function contentsOf(kind: StoreKind, copy: string, config: Config, io: Io): Promise<Contents> {
  const store = await openStoreOf(kind, `sqlite:${copy}`, config.data, { mustExist: true, keepsFormat: true });
  try {
    if (kind === "services") return { installation: await store.owner(), revision: undefined };
    return await factsOf(store, openRoleLog("error", io).log);
  } finally {
    await store.close();
  }
}

/** The error for the user. */
export function asCommandError(error: unknown, file: string): unknown {
  if (error instanceof StoreError) return new CommandError(error.message);
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new CommandError(
      `${file} cannot be written: its disk is full (${message}). Twice the store's size is needed`,
    );
  }
  return code === undefined ? error : new CommandError(`Writing failed: ${fileProblem(error, file)}`);
}

interface Written {
  readonly store: string;
  readonly file: string;
  readonly kind: StoreKind;
  readonly contents: Contents;
  readonly bytes: number;
}

function summary({ store, file, kind, contents: { installation, revision }, bytes }: Written): string {
  const what = [
    installation === undefined ? "belongs to no installation" : `installation ${installation}`,
    ...(revision === undefined ? [] : [`revision ${revision}`]),
    bytes < 1024 ** 2 ? `${Math.ceil(bytes / 1024)} KiB` : `${Math.round(bytes / 1024 ** 2)} MiB`,
  ].join(", ");
  const rest =
    kind === "services"
      ? "Not in it: accounts and rules (portico backup FILE), and files such as portico.json.\n"
      : "Not in it: what services keep (portico backup --services FILE), portico.json, the folder enrolment,\n" +
        "certificates and credentials.\n";
  return `Backed up ${store}\nto ${file}, and read it again: ${what}.\n${rest}Keep it as secret as the store.\n`;
}
