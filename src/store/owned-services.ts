/**
 * The store of services of one installation: where it is, and whether it belongs to the installation.
 *
 *     belongs to the installation   it is opened
 *     belongs to another one        it is refused
 *     belongs to none, and empty    it belongs to the installation from now on
 *     belongs to none, has entries  it is a copy that was made for another installation: the same in that one's own data
 *                                   folder; elsewhere it is refused, since the entries may be for another one
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { readInstallationId } from "./installation.js";
import { type OpenOptions, openServiceStore, serviceFileOf } from "./open.js";
import { isPostgresUrl } from "./postgres-url.js";
import { type KeyValueStore, StoreError } from "./store.js";

/** Whose store, and where the settings say that it is. */
export interface OwnedOptions extends Pick<OpenOptions, "warn" | "isNew"> {
  /** The setting PORTICO_SERVICE_STORE. */
  readonly url: string;
  /** The setting PORTICO_DATA. */
  readonly dataFolder: string;
  /** The ID of the installation. */
  readonly installation: string;
  /** The service of a process that has joined the installation; undefined for the process that has the authority. */
  readonly joined?: string | undefined;
}

/**
 * The store's file, `/var/lib/portico/services.sqlite`; of a database its URL. `sqlite:` is services.sqlite in the data folder. A
 * process that has joined an installation uses that of its own folder, `services/<name>` in the data folder, unless the data
 * folder is the installation's own.
 */
export function serviceStoreOf({ url, dataFolder, installation, joined }: OwnedOptions): string {
  if (isPostgresUrl(url)) return url;
  const isOwn = joined !== undefined && url === "sqlite:" && readInstallationId(dataFolder) !== installation;
  return serviceFileOf(url, isOwn ? join(dataFolder, "services", joined) : dataFolder);
}

/** Whether a file is there, and not in the installation's own data folder. */
export function isThereElsewhere(file: string, installation: string): boolean {
  return existsSync(file) && readInstallationId(dirname(file)) !== installation;
}

/**
 * Opens the store, which belongs to the installation from then on.
 * @param onAdopted told of the store where it had entries and belonged to none
 * @throws {StoreError} when it cannot be used, or is not the installation's; the message says what to do.
 */
export async function openOwnedServices(
  options: OwnedOptions,
  onAdopted: (store: string) => void = () => {},
): Promise<KeyValueStore> {
  const { installation, dataFolder, warn = () => {}, isNew } = options;
  const place = serviceStoreOf(options);
  const isFile = !isPostgresUrl(place);
  // The folder says whether a file that is absent is missed.
  const folder = options.url === "sqlite:" ? dirname(place) : dataFolder;
  const store = await openServiceStore(isFile ? `sqlite:${place}` : place, folder, { warn, isNew });
  try {
    const owner = await store.claim(installation);
    if (owner === installation) return store;
    if (owner !== undefined) throw new StoreError(foreign(store.name, owner, installation));
    if (!isFile || isThereElsewhere(place, installation))
      throw new StoreError(unowned(store.name, isFile ? place : store.name, installation));
    const adopter = await store.claim(installation, { withEntries: true });
    if (adopter !== installation) throw new StoreError(foreign(store.name, `${adopter}`, installation));
    onAdopted(store.name);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

function foreign(name: string, owner: string, installation: string): string {
  return (
    `store ${name} belongs to another installation of Portico (${owner}), and this process to ${installation}: name another ` +
    "store in PORTICO_SERVICE_STORE, or another folder in PORTICO_DATA. To use a copy of its data here: portico store copy " +
    "--services --as-copy, then portico services adopt"
  );
}

function unowned(name: string, place: string, installation: string): string {
  return (
    `store ${name} has data of services, and does not say of which installation: it is a copy. If it is for the ` +
    `installation that this process has joined, type: portico services adopt ${quoted(place)} --installation ${installation}\n` +
    "If not, name another store in PORTICO_SERVICE_STORE, or another folder in PORTICO_DATA"
  );
}

/** As a word of a shell. */
function quoted(text: string): string {
  return /^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
