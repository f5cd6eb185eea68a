/**
 * `portico services adopt`: assigns a store of services to an installation. The store must belong
 * to no installation yet. Such a store is a copy made with `portico store copy --services
 * --as-copy`.
 */

import type { Command } from "commander";
import { loadConfig, SETTINGS } from "../../src/config/config.js";
import { readInstallationId } from "../../src/store/installation.js";
import { isPostgresUrl } from "../../src/store/postgres-url.js";
import { type KeyValueStore, StoreError } from "../../src/store/store.js";
import { CompletedArgument, CompletedOption } from "../command/candidates.js";
import { examples, newCommand } from "../terminal/command.js";
import { CommandError, EXIT } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { completionOf } from "./commands.js";

interface AdoptFlags {
  readonly installation?: string;
  readonly data?: string;
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function adoptServices(io: Io): Command {
  const command = newCommand("adopt", "give data of services that belongs to no installation to one");
  const what = "file or postgres:// URL; default what PORTICO_SERVICE_STORE names";
  command.addArgument(new CompletedArgument("[store]", completionOf(SETTINGS.config)).default(undefined, what));
  command.option("--installation <id>", "its ID; default that of the data folder");
  const { meaning } = SETTINGS.data;
  command.addOption(new CompletedOption("--data <folder>", meaning, completionOf(SETTINGS.data)));
  examples(command, "portico services adopt", "portico services adopt /var/lib/shop/services.sqlite --installation ID");
  return command.action((store: string | undefined, flags: AdoptFlags) => adopt(store, flags, io));
}

/** @throws {CommandError} when the store cannot be used, or belongs to another installation. */
async function adopt(given: string | undefined, { installation, data }: AdoptFlags, io: Io): Promise<void> {
  const config = loadConfig(data === undefined ? {} : { data }, io.env);
  const id = installation ?? readInstallationId(config.data);
  if (id === undefined) {
    const why = `no authority has used the data folder ${config.data}`;
    throw new CommandError(`--installation is missing: ${why}. A service that was refused names the ID`, EXIT.usage);
  }
  if (!ID.test(id)) throw new CommandError(`--installation: ${id} is no ID of an installation`, EXIT.usage);
  const isUrl = given !== undefined && (isPostgresUrl(given) || given.startsWith("sqlite:"));
  const url = given === undefined ? config.serviceStore : isUrl ? given : `sqlite:${given}`;
  const { openServiceStore } = await import("../../src/store/open.js");
  try {
    const store = await openServiceStore(url, config.data, { mustExist: true });
    try {
      io.stdout.write(await claim(store, id));
    } finally {
      await store.close();
    }
  } catch (error) {
    throw error instanceof StoreError ? new CommandError(error.message) : error;
  }
}

/** Claims the store, and returns a text about it for the user. */
async function claim(store: KeyValueStore, id: string): Promise<string> {
  const before = await store.owner();
  const owner = await store.claim(id, { withEntries: true });
  if (owner !== id) {
    const remedy = "copy it by portico store copy --services --as-copy, and adopt the copy";
    throw new StoreError(
      `store ${store.name} belongs to another installation, ${owner}. To use its data here, ${remedy}`,
    );
  }
  if (before === id) return `${store.name} belongs to the installation ${id} already\n`;
  const count = await store.count("", "\u{10ffff}");
  return `Adopted ${store.name} with ${count} entries\nIt belongs to the installation ${id} now\n`;
}
