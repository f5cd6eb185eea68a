/**
 * Finds the store of an installation's services, and checks that it belongs to the installation.
 *
 *     the store belongs to        result
 *     this installation           it is opened
 *     another installation        it is refused
 *     none, and it is empty       it belongs to this installation from now on
 *     none, and it has entries    it is a copy for a new installation; it belongs to this one from
 *                                 now on if it is in this installation's data folder; elsewhere it
 *                                 is refused, since it may be for another installation
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { readInstallationId } from "./installation.js";
import { type OpenOptions, openServiceStore, storeFileOf } from "./open.js";
import { isPostgresUrl } from "./postgres-url.js";
import { type KeyValueStore, StoreError } from "./store.js";

/** The store's location by the settings, and who opens it. */
export interface OwnedOptions extends Pick<OpenOptions, "warn" | "isNew"> {
  /** The setting PORTICO_SERVICE_STORE. */
  readonly url: string;
  /** The setting PORTICO_DATA. */
  readonly dataFolder: string;
  /** The ID of the installation. */
  readonly installation: string;
  /**
   * The service of a process that has joined the installation; undefined for the process with the
   * authority.
   */
  readonly joined?: string | undefined;
}

/**
 * The store's file, such as `/var/lib/portico/services.sqlite`, or the URL of a database. `sqlite:`
 * is services.sqlite in the data folder. A process that has joined an installation uses the file in
 * its own folder, `services/<name>` in the data folder, unless the data folder belongs to the
 * installation itself.
 */
export function serviceStoreOf({ url, dataFolder, installation, joined }: OwnedOptions): string {
  if (isPostgresUrl(url)) return url;
  const isOwn = joined !== undefined && url === "sqlite:" && readInstallationId(dataFolder) !== installation;
  return storeFileOf("services", url, isOwn ? join(dataFolder, "services", joined) : dataFolder);
}

/** Whether the file exists outside the installation's own data folder. */
export function isThereElsewhere(file: string, installation: string): boolean {
  return existsSync(file) && readInstallationId(dirname(file)) !== installation;
}

/**
 * Opens the store, which belongs to the installation from then on.
 * @param onAdopted called with the store's name if it had entries and belonged to no installation
 * @throws {StoreError} if it cannot be used or belongs to another installation; the message says
 *   what to do
 */
export async function openOwnedServices(
  options: OwnedOptions,
  onAdopted: (store: string) => void = () => {},
): Promise<KeyValueStore> {
  const { installation, dataFolder, warn = () => {}, isNew } = options;
  const place = serviceStoreOf(options);
  const isFile = !isPostgresUrl(place);
  // The folder shows whether an absent file was lost.
  const folder = options.url === "sqlite:" ? dirname(place) : dataFolder;
  const store = await openServiceStore(isFile ? `sqlite:${place}` : place, folder, { warn, isNew });
  try {
    const owner = await store.claim(installation);
    if (owner === installation) return store;
    if (owner !== undefined) throw new StoreError(otherInstallationMessage(store.name, owner, installation));
    if (!isFile || isThereElsewhere(place, installation))
      throw new StoreError(unowned(store.name, isFile ? place : store.name, installation));
    const adopter = await store.claim(installation, { withEntries: true });
    if (adopter !== installation)
      throw new StoreError(otherInstallationMessage(store.name, `${adopter}`, installation));
    onAdopted(store.name);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

function otherInstallationMessage(name: string, owner: string, installation: string): string {
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

/** The text as one word of a shell command. */
function quoted(text: string): string {
  return /^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
