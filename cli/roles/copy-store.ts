/** `portico store copy FROM TO`: copies a store, such as that of a file to a database. */
import { loadConfig } from "../../src/config.js";
import { type Copied, copyStore, isInUse } from "../../src/store/copy.js";
import { fillStore, openStore } from "../../src/store/open.js";
import { type CollectionName, type Store, StoreError } from "../../src/store/store.js";
import { CommandError } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";

/** What an entry of each collection is, for people. */
const CONTENTS: Readonly<Record<CollectionName, string>> = {
  log: "changes",
  snapshots: "parts of snapshots",
  grantors: "claims of authorities",
  usage: "rows of usage",
  time: "rows of time",
};

export interface CopyFlags {
  readonly data?: string;
  /** Whether no authority runs on the store, although one left a claim there, as it does when it is killed. */
  readonly stopped?: boolean;
}

/** @throws {CommandError} where TO is not a complete copy. Then no authority opens it. */
export async function copy(from: string, to: string, { stopped = false, data }: CopyFlags, io: Io): Promise<void> {
  const { data: dataFolder } = loadConfig(data === undefined ? {} : { data }, io.env);
  const warn = (message: string): void => void io.stderr.write(`${message}\n`);
  try {
    const source = await openStore(from, dataFolder, { mustExist: true });
    const done: { target: Store; copied: Copied }[] = [];
    const fill = async (target: Store): Promise<void> => {
      done.push({ target, copied: await copyStore(source, target) });
    };
    try {
      if (!stopped && (await isInUse(source))) throw new StoreError(inUse(source.name));
      await fillStore(to, dataFolder, fill, warn);
    } finally {
      await source.close();
    }
    for (const { target, copied } of done) io.stdout.write(summary(source.name, target.name, copied));
  } catch (error) {
    throw error instanceof StoreError ? new CommandError(error.message) : error;
  }
}

function inUse(name: string): string {
  return (
    `store ${name} has the claim of an authority: stop every authority on it. Where one was killed, and none runs, add ` +
    "--stopped"
  );
}

function summary(from: string, to: string, copied: Copied): string {
  const rows = Object.entries(copied).map(
    ([name, count]) => `  ${`${count}`.padStart(6)} ${CONTENTS[name as CollectionName]}\n`,
  );
  return [
    `Copied ${from}\nto ${to}, and compared:\n\n`,
    ...rows,
    "\nName the copy in PORTICO_STORE. Start no authority on the old store again: it would not know\n" +
      "what is changed in the new one.\n",
  ].join("");
}
