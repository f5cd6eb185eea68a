/** The stores: whether they open, who uses them, and whether this machine's clock fits them. */
import { existsSync } from "node:fs";
import { newestTime } from "../../services/auth/log/time/stored-time.js";
import { type Config, SETTINGS } from "../../src/config/config.js";
import { collectionOf } from "../../src/store/collection.js";
import { isInUse } from "../../src/store/copy.js";
import { lostInstallation, missedInstallation } from "../../src/store/installation.js";
import { openServiceStore, openStore, storeFileOf } from "../../src/store/open.js";
import { isPostgresUrl } from "../../src/store/postgres-url.js";
import type { KeyValueStore } from "../../src/store/store.js";
import { compareClocks, compareWithStore } from "./clock.js";
import { DEADLINE_MS, type Finding, findingsOf } from "./finding.js";
import { adminAddress, isRunning } from "./role.js";

const { ok, warning, problem } = findingsOf("store");

const SAVE =
  "The process that runs may still have it: before you stop it, save it from there (docs/operating.md#readyz-is-degraded)";

const otherSettings = (config: Config) =>
  `Portico responds at ${adminAddress(config)}. Run this with the settings of that process, such as ${SETTINGS.data.variable}`;

/** The authority's store. */
export async function checkStore(config: Config, signal: AbortSignal): Promise<readonly Finding[]> {
  const { store: url, data } = config;
  if (!isPostgresUrl(url) && !existsSync(storeFileOf("authority", url, data))) return [await absent(config, signal)];
  return opened(
    (options) => openStore(url, data, options),
    async (store) => {
      const uses = (await isInUse(store)) ? "an authority uses it" : "no authority uses it now";
      return [ok(`${store.name} opens; ${uses}`), await checkClock(store)];
    },
  );
}

async function absent(config: Config, signal: AbortSignal): Promise<Finding> {
  const { store: url, data } = config;
  const installation = missedInstallation(data);
  const runs = await isRunning(config, signal);
  if (installation !== undefined) {
    const file = storeFileOf("authority", url, data);
    const text = `store ${file} does not exist, ${lostInstallation(file, data, installation)}`;
    return problem(runs ? `${text}. ${SAVE}` : text);
  }
  const nowhere = `There is no store in ${data}`;
  if (runs) return warning(`${nowhere}, but ${otherSettings(config)}`);
  return ok(`${nowhere} yet: the first start creates it (${SETTINGS.store.variable})`);
}

/** The store of the built-in services of `portico server`, or of a service on Postgres. */
export async function checkServiceStore(config: Config): Promise<readonly Finding[]> {
  const { serviceStore: url, data } = config;
  if (!isPostgresUrl(url) && !existsSync(storeFileOf("services", url, data))) return [];
  return opened(
    (options) => openServiceStore(url, data, options),
    async ({ name }) => [ok(`${name} opens`)],
  );
}

interface Options {
  readonly timeoutMs: number;
  readonly mustExist: true;
  readonly keepsFormat: true;
  readonly warn: (message: string) => void;
}

/** @throws {StoreError} if the store does not open */
async function opened(
  open: (options: Options) => Promise<KeyValueStore>,
  check: (store: KeyValueStore) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const warnings: Finding[] = [];
  const warn = (message: string): void => void warnings.push(warning(message));
  const store = await open({ timeoutMs: DEADLINE_MS, mustExist: true, keepsFormat: true, warn });
  try {
    return [...(await check(store)), ...warnings];
  } finally {
    await store.close();
  }
}

async function checkClock(store: KeyValueStore): Promise<Finding> {
  const sent = Date.now();
  const time = await store.time();
  if (time !== undefined) return compareClocks("the database", time, { sent, received: Date.now() });
  return compareWithStore(await newestTime(collectionOf(store, "time")), Date.now());
}
