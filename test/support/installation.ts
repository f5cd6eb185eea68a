/**
 * Data folders that an authority has set up already. A first start hashes the administrator's password, and each login
 * hashes it again, which takes a third of a second of processor time; in these folders the hash is a cheap one.
 */
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CHEAP } from "./passwords.js";

/** Of this run of the tests alone: scripts/test.mjs makes and removes it. */
const RUN_FOLDER = process.env.TEST_RUN_FOLDER ?? ".tap";

/** Sets up the folder as the first start of `portico server` does. Gives the folder. */
export async function installation(folder: string): Promise<string> {
  const prepared = join(RUN_FOLDER, "installation");
  if (!existsSync(prepared)) await prepare(prepared);
  cpSync(prepared, folder, { recursive: true });
  return folder;
}

async function prepare(prepared: string): Promise<void> {
  const { openAuthority } = await import("../../services/auth/authority.js");
  const { openStore } = await import("../../src/store/open.js");
  const { default: pino } = await import("pino");
  const draft = mkdtempSync(join(RUN_FOLDER, "installation-"));
  const store = await openStore("sqlite:", draft);
  const log = pino({ level: "silent" });
  const options = { dataFolder: draft, maxRules: 10_000, leaseMs: 5_000, passwordCost: CHEAP, log };
  const authority = await openAuthority({ store, ...options });
  await authority.close();
  await store.close();
  try {
    renameSync(draft, prepared);
  } catch {
    rmSync(draft, { recursive: true }); // Another test file was first.
  }
}
