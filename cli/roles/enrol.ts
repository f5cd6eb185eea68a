/**
 * `portico enrol <name>`: creates an enrolment token in the store directly, for an operator who has
 * the store.
 */

import { enrolInStore } from "../../services/auth/local-enrolment.js";
import { type Flags, loadConfig } from "../../src/config/config.js";
import { StatusError } from "../../src/errors.js";
import { openStore } from "../../src/store/open.js";
import { StoreError } from "../../src/store/store.js";

import { CommandError } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { openRoleLog } from "./log.js";

/**
 * Prints the token for a name from the data folder. If there is none, or if it was revoked, it
 * creates one.
 * @throws {ConfigError|CommandError} when the store cannot be used, or the maximum number of
 * enrolments is reached.
 */
export async function enrol(name: string, flags: Flags, io: Io): Promise<void> {
  const { store: url, data: dataFolder, logLevel } = loadConfig(flags, io.env);
  const { log, show } = openRoleLog(logLevel, io);
  show();
  try {
    const store = await openStore(url, dataFolder);
    try {
      io.stdout.write(`${await enrolInStore({ store, dataFolder, log, name })}\n`);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw error instanceof StoreError || error instanceof StatusError ? new CommandError(error.message) : error;
  }
}
