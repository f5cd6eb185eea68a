/**
 * Data folders that an authority has already set up. The first start hashes the administrator's
 * password, and each login hashes it again. This takes a third of a second of processor time, so
 * these folders have a cheap hash.
 */
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHEAP } from "./passwords.js";

/**
 * The administrator's password in each of these folders, also in the file `admin-password`. A shell
 * reads it as one word.
 */
export const ADMIN_PASSWORD = "correct-horse-battery";

/** A folder for this run of the tests only: scripts/test.mjs makes and removes it. */
const RUN_FOLDER = process.env.TEST_RUN_FOLDER ?? ".tap";

/**
 * Sets up the folder as the first start of `portico server` does.
 * @returns the folder
 */
export async function installation(folder: string): Promise<string> {
  const prepared = join(RUN_FOLDER, "installation");
  if (!existsSync(prepared)) await prepare(prepared);
  cpSync(prepared, folder, { recursive: true });
  return folder;
}

async function prepare(prepared: string): Promise<void> {
  const { openAuthority } = await import("../../services/auth/authority.js");
  const { openStore } = await import("../../src/store/open.js");
  const { BUILT_IN_SERVICES } = await import("../../cli/roles/built-in-services.js");
  const { default: pino } = await import("pino");
  const draft = mkdtempSync(join(RUN_FOLDER, "installation-"));
  const store = await openStore("sqlite:", draft);
  const log = pino({ level: "silent" });
  const given = { adminPassword: ADMIN_PASSWORD, passwordCost: CHEAP };
  const options = {
    ...given,
    dataFolder: draft,
    services: Object.keys(BUILT_IN_SERVICES),
    maxRules: 10_000,
    leaseMs: 5_000,
    log,
  };
  const authority = await openAuthority({ store, ...options });
  await authority.close();
  await store.close();
  writeFileSync(join(draft, "admin-password"), `${ADMIN_PASSWORD}\n`, { mode: 0o600 });
  try {
    renameSync(draft, prepared);
  } catch {
    rmSync(draft, { recursive: true }); // Another test file has made the template already.
  }
}
