/**
 * `portico recover admin`: sets a new password for the administrator in the store directly, for an
 * operator who has the store.
 */

import { recoverAdmin } from "../../services/auth/recover.js";
import { type Flags, loadConfig } from "../../src/config/config.js";
import { StatusError } from "../../src/errors.js";
import { openStore } from "../../src/store/open.js";
import { StoreError } from "../../src/store/store.js";

import { CommandError } from "../terminal/exit.js";
import type { Io } from "../terminal/io.js";
import { passwordFromStdin } from "../terminal/prompt.js";
import { openRoleLog } from "./log.js";

export interface RecoverFlags extends Flags {
  readonly passwordStdin?: true;
}

/**
 * Sets the password from standard input, or generates one and prints it.
 * @throws {ConfigError|CommandError} when the store cannot be used, or when the password cannot be
 * set.
 */
export async function recover({ passwordStdin, ...flags }: RecoverFlags, io: Io): Promise<void> {
  const { store: url, data: dataFolder, logLevel } = loadConfig(flags, io.env);
  const given = passwordStdin ? await passwordFromStdin(io) : undefined;
  const { log, show } = openRoleLog(logLevel, io);
  show();
  const onWritten = (password: string): void => {
    // Printed at once: the password is set, even if the command is stopped while it waits.
    if (given === undefined) io.stdout.write(`${password}\n`);
    io.stderr.write("The password of admin is set. Waiting until every gateway knows it, at most a lease …\n");
  };
  try {
    const store = await openStore(url, dataFolder, { mustExist: true });
    try {
      await recoverAdmin({ store, dataFolder, password: given, log, onWritten });
    } finally {
      await store.close();
    }
  } catch (error) {
    throw error instanceof StoreError || error instanceof StatusError ? new CommandError(error.message) : error;
  }
  io.stderr.write("Logins of admin before this have ended; its API keys have not. Log in: portico login\n");
}
