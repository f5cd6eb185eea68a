/**
 * `portico restore FILE`: makes a backup the store again, while no process uses the store. The old
 * store stays beside it under another name.
 */

import { existsSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { factsIn, factsOf, missingChanges, recordRestore, type StoreFacts } from "../../services/auth/backup.js";
import { type Beside, openBeside } from "../../services/auth/beside.js";
import { leaseSpan, longestSpan } from "../../services/auth/log/leases/lease-records.js";
import { type Flags, loadConfig } from "../../src/config/config.js";
import { StatusError } from "../../src/errors.js";
import { makeFolder } from "../../src/folder.js";
import { type BackupHeader, draftOf, readBackup, removeLeftovers } from "../../src/store/backup-file.js";
import { collectionOf } from "../../src/store/collection.js";
import { otherStore, readInstallationId } from "../../src/store/installation.js";
import { openStoreOf } from "../../src/store/open.js";
import { disownSqlite, InUseError, replaceFile, whileUnused } from "../../src/store/sqlite-backup.js";
import { removeSqlite } from "../../src/store/sqlite-file.js";
import { type KeyValueStore, StoreError, type StoreKind } from "../../src/store/store.js";

import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { ask, canAsk } from "../terminal/prompt.js";
import { asCommandError, storeFileFor } from "./backup.js";
import { openRoleLog } from "./log.js";
import { done, type OldStore, type Order, plan } from "./restore-text.js";

export interface RestoreFlags extends Flags {
  readonly services?: true;
  readonly asCopy?: true;
  readonly keepLogins?: true;
  readonly yes?: true;
}

/** The word that the user types. One Enter must not replace a store. */
const WORD = "restore";
/** Maximum number of records of a namespace that are looked at for the list of what is lost. */
const MAX_RECORDS = 1_000;

/** The copy of the backup that becomes the store. */
interface Draft {
  readonly header: BackupHeader;
  readonly path: string;
  readonly store: KeyValueStore;
  /** The authority's log in it; undefined for services. */
  readonly beside: Beside | undefined;
}

/**
 * @throws {ConfigError|CommandError} when the backup or the store cannot be used, or the user says
 *   no. Then the store is as it was.
 */
export async function restore(path: string, flags: RestoreFlags, io: Io): Promise<void> {
  const { services, asCopy = false, keepLogins = false, yes = false, ...settings } = flags;
  const kind: StoreKind = services ? "services" : "authority";
  const config = loadConfig(settings, io.env);
  const named = storeFileFor(kind, config, "restore");
  // Where the name is a symbolic link, the store stays on its disk, and the link stays.
  const store = existsSync(named) ? realpathSync(named) : named;
  const order: Order = { kind, config, store, file: resolve(path), asCopy, keepsLogins: keepLogins };
  if (!yes && !canAsk(io)) {
    throw new CommandError(
      "There is no terminal to ask on. Give --yes to replace the store without a question",
      EXIT.usage,
    );
  }
  const draft = draftOf(store);
  try {
    makeFolder(dirname(store));
    removeLeftovers(store);
    await withDraft(order, draft, io, async (opened) => {
      const old = await lookAt(order, opened.store, io);
      checkInstallation(order, opened.header, old);
      const act = () => replace(order, opened, old, { io, yes });
      await (old.canLock ? whileUnused(kind, store, act) : act());
    });
  } catch (error) {
    throw error instanceof StatusError ? new CommandError(error.message) : asCommandError(error, store);
  } finally {
    removeSqlite(draft);
  }
}

/** Reads the backup into a draft of the store, and opens that as Portico does. */
async function withDraft(
  { kind, file, config }: Order,
  path: string,
  io: Io,
  act: (draft: Draft) => Promise<void>,
): Promise<void> {
  const header = await readBackup(file, path);
  if (header.kind !== kind) {
    const remedy = kind === "services" ? "leave --services out" : "give --services";
    throw new CommandError(`backup ${file} is of the store of ${KINDS[header.kind]}; ${remedy}`);
  }
  const store = await openStoreOf(kind, `sqlite:${path}`, config.data, { mustExist: true });
  try {
    if (kind === "services") return await act({ header, path, store, beside: undefined });
    const beside = await openBeside({ store, log: openRoleLog("error", io).log });
    try {
      const { installation, revision } = factsIn(beside);
      if (installation !== header.installation || revision !== header.revision) {
        throw new CommandError(
          `backup ${file} was altered: its first line differs from its content; use another backup`,
        );
      }
      await act({ header, path, store, beside });
    } finally {
      await beside.close();
    }
  } finally {
    await store.close().catch(() => undefined);
  }
}

const KINDS = { authority: "the authority", services: "services" } as const;

/**
 * Looks at the store that is to be replaced.
 * @throws {CommandError} if a process uses it
 */
async function lookAt({ kind, store: file, config }: Order, backup: KeyValueStore, io: Io): Promise<OldStore> {
  const installation = readInstallationId(config.data);
  const span = leaseSpan(config.lease);
  const unread = { installation, missing: [], span };
  if (!existsSync(file)) return { state: "absent", canLock: false, ...unread };
  let canLock = false;
  try {
    await whileUnused(kind, file, async () => undefined);
    canLock = true;
    const store = await openStoreOf(kind, `sqlite:${file}`, config.data, { mustExist: true, keepsFormat: true });
    try {
      return { state: "readable", canLock, ...(await readOld(kind, { store, installation, backup }, io)) };
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof InUseError || !(error instanceof StoreError)) throw error;
    io.stderr.write(`The store cannot be read: ${error.message}\n`);
    return { state: "unreadable", canLock, ...unread };
  }
}

interface Reading {
  readonly store: KeyValueStore;
  /** The installation of the data folder. */
  readonly installation: string | undefined;
  readonly backup: KeyValueStore;
}

async function readOld(kind: StoreKind, { store, installation, backup }: Reading, io: Io) {
  if (kind === "services") return { installation: await store.owner(), missing: [], span: 0 };
  const missing = await missingChanges(store, backup, MAX_RECORDS);
  const id = installation ?? (await factsOf(store, openRoleLog("error", io).log)).installation;
  return { installation: id, missing, span: await longestSpan(collectionOf(store, "grantors")) };
}

/**
 * @throws {CommandError} if the backup belongs to another installation than the store, or the data
 *   folder to another store
 */
function checkInstallation(order: Order, { installation }: BackupHeader, old: OldStore): void {
  const { kind, asCopy, store, config } = order;
  const other = kind === "authority" ? otherStore(config.data, storeFileFor(kind, config, "restore")) : undefined;
  if (other !== undefined) {
    throw new CommandError(
      `the data folder ${config.data} belongs to store ${other}; name that store in PORTICO_STORE`,
    );
  }
  if (asCopy) {
    if (old.state === "absent" && old.installation === undefined) return;
    const remedy = "name an empty folder in PORTICO_DATA";
    throw new CommandError(`--as-copy makes another installation, and ${config.data} belongs to one; ${remedy}`);
  }
  if (old.installation === undefined || installation === undefined || old.installation === installation) return;
  throw new CommandError(
    `the backup is of installation ${installation}, and ${store} belongs to ${old.installation}; name the data folder of ` +
      "that installation, or an empty one with --as-copy",
  );
}

/** Asks, records the restore, waits for leases, and replaces the store. */
async function replace(
  order: Order,
  draft: Draft,
  old: OldStore,
  { io, yes }: { readonly io: Io; readonly yes: boolean },
): Promise<void> {
  const { kind, store, asCopy, keepsLogins } = order;
  io.stderr.write(plan(order, draft.header, old));
  if (!yes && (await ask(io, `Type ${WORD} to go on:`)) !== WORD) {
    throw new CommandError("Nothing was changed");
  }
  let restored: StoreFacts | undefined;
  if (draft.beside !== undefined) {
    const made = Date.parse(draft.header.time);
    restored = await recordRestore({ beside: draft.beside, store: draft.store, made, keepsLogins, asCopy });
    await draft.beside.close();
  }
  await draft.store.close();
  if (kind === "services" && asCopy) await disownSqlite(kind, draft.path);
  if (old.span > 0 && !asCopy) {
    io.stderr.write(`Waiting ${Math.ceil(old.span / 1000)} s, until every gateway's lease has ended …\n`);
    await sleep(old.span);
  }
  if (old.state === "absent" && existsSync(store)) {
    throw new CommandError(`a process has created ${store} meanwhile; stop it, and restore again`);
  }
  const kept = replaceFile(store, draft.path, new Date());
  io.stdout.write(done(order, { kept, restored }));
}
