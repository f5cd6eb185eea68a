/** `portico store copy FROM TO`: copies a store, for example from a file to a database. */

import { makeOwnInstallation } from "../../services/auth/change-store.js";
import { loadConfig } from "../../src/config/config.js";
import { COLLECTIONS, type CollectionName } from "../../src/store/collection.js";
import { copyStore, isInUse } from "../../src/store/copy.js";
import { fillStore, openServiceStore, openStore } from "../../src/store/open.js";
import { type KeyValueStore, StoreError } from "../../src/store/store.js";

import { CommandError } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { openRoleLog } from "./log.js";

/** A name for the entries of each collection, for the user. */
const CONTENTS: Readonly<Record<CollectionName, string>> = {
  log: "changes",
  snapshots: "parts of snapshots",
  grantors: "claims of authorities",
  usage: "rows of usage",
  time: "rows of time",
  audit: "rows of the audit trail",
  quotas: "rows of quotas",
};

export interface CopyFlags {
  readonly data?: string;
  /** Whether the stores belong to services, not to the authority. */
  readonly services?: boolean;
  /**
   * Whether no authority runs on the store although it has a lease record. An authority that is
   * killed leaves its lease record.
   */
  readonly stopped?: boolean;
  /** Whether the copy is for another installation. Otherwise it replaces the original. */
  readonly asCopy?: boolean;
}

/** Two stores, and where they are. */
interface Places {
  readonly from: string;
  readonly to: string;
  readonly dataFolder: string;
  readonly asCopy: boolean;
  readonly warn: (message: string) => void;
}

/**
 * @throws {CommandError} when TO is not a complete copy. Then no authority and no service opens it.
 */
export async function copy(from: string, to: string, flags: CopyFlags, io: Io): Promise<void> {
  const { services = false, stopped = false, asCopy = false, data } = flags;
  const { data: dataFolder } = loadConfig(data === undefined ? {} : { data }, io.env);
  const warn = (message: string): void => void io.stderr.write(`${message}\n`);
  const places: Places = { from, to, dataFolder, asCopy, warn };
  try {
    io.stdout.write(services ? await copyOfServices(places) : await copyOfAuthority(places, stopped, io));
  } catch (error) {
    throw error instanceof StoreError ? new CommandError(error.message) : error;
  }
}

/** Copies the authority's store. Returns a text for the user about what was copied. */
async function copyOfAuthority(places: Places, stopped: boolean, io: Io): Promise<string> {
  const { from, to, dataFolder, asCopy, warn } = places;
  const source = await openStore(from, dataFolder, { mustExist: true });
  let done = "";
  const fill = async (target: KeyValueStore): Promise<void> => {
    const counts = await copyStore(source, target, { kind: "authority", asCopy: false });
    const rows = COLLECTIONS.map((name) => `  ${`${counts.get(name) ?? 0}`.padStart(6)} ${CONTENTS[name]}\n`);
    const own = asCopy ? await makeOwnInstallation(target, openRoleLog("warn", io).log) : undefined;
    done =
      own === undefined
        ? summary(source, target, rows, { setting: "PORTICO_STORE", user: "authority" })
        : ownInstallation(source, target, rows, own);
  };
  try {
    if (!stopped && (await isInUse(source))) throw new StoreError(inUse(source.name));
    await fillStore("authority", to, dataFolder, { fill, warn });
  } finally {
    await source.close();
  }
  return done;
}

/** Copies the store of services. Returns a text for the user about what was copied. */
async function copyOfServices({ from, to, dataFolder, asCopy, warn }: Places): Promise<string> {
  const source = await openServiceStore(from, dataFolder, { mustExist: true });
  let done = "";
  const fill = async (target: KeyValueStore): Promise<void> => {
    const counts = await copyStore(source, target, { kind: "services", asCopy });
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const rows = [`  ${`${total}`.padStart(6)} entries of services\n`];
    done = asCopy
      ? ownServices(source, target, rows)
      : summary(source, target, rows, { setting: "PORTICO_SERVICE_STORE", user: "service" });
  };
  try {
    await fillStore("services", to, dataFolder, { fill, warn });
  } finally {
    await source.close();
  }
  return done;
}

function inUse(name: string): string {
  return (
    `store ${name} has the claim of an authority: stop every authority on it. Where one was killed, and none runs, add ` +
    "--stopped"
  );
}

interface Named {
  readonly name: string;
}

type Rows = readonly string[];

function copied(source: Named, target: Named, rows: Rows, then: string): string {
  return [`Copied ${source.name}\nto ${target.name}, and compared:\n\n`, ...rows, `\n${then}`].join("");
}

function summary(
  source: Named,
  target: Named,
  rows: Rows,
  { setting, user }: { readonly setting: string; readonly user: string },
): string {
  const then =
    `Name the copy in ${setting}. Start no ${user} on the old store again: it would not know\n` +
    "what is changed in the new one.\n";
  return copied(source, target, rows, then);
}

/** The next steps with a copy of the authority's store for another installation. */
function ownInstallation(source: Named, target: Named, rows: Rows, id: string): string {
  const then =
    `The copy is an installation of its own, ${id}. Start it with a data folder of its own\n` +
    "(PORTICO_DATA). Accounts, API keys and enrolment tokens are those of the original: delete what must not be\n" +
    "valid in both. What services keep is copied by portico store copy --services --as-copy.\n";
  return copied(source, target, rows, then);
}

/** The next steps with a copy of the store of services for another installation. */
function ownServices(source: Named, target: Named, rows: Rows): string {
  const then =
    "The copy belongs to no installation yet. As services.sqlite in the data folder of an installation it is taken\n" +
    "by its next start. Elsewhere, give it to one: portico services adopt STORE --installation ID\n";
  return copied(source, target, rows, then);
}
