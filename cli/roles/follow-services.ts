/** Applies changes of the services that the configuration file names, while the process runs. */
import type { Registry } from "../../services/registry/registry.js";
import { readServices } from "../../src/config/config.js";
import { ConfigError } from "../../src/config/setting.js";
import { onFileChange } from "../../src/file-changes.js";
import type { Logger } from "../../src/log.js";
import type { ProcessPart } from "../../src/process/process.js";

export interface FollowServicesOptions {
  /** The configuration file. It may be created later. */
  readonly file: string;
  readonly registry: Pick<Registry, "configure">;
  readonly log: Logger;
}

/**
 * Passes the services of the file to the registry after each change. If the file cannot be used,
 * the error is logged, and the previous services stay.
 */
export function followServices({ file, registry, log }: FollowServicesOptions): ProcessPart {
  const closing = new AbortController();
  const takeUp = (): void => {
    try {
      registry.configure(readServices(file));
      log.info({ file }, "the services of the configuration file were read again");
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      log.warn({ reason: error.message }, "the changed configuration file is not used");
    }
  };
  onFileChange(file, takeUp, closing.signal);
  return { close: () => closing.abort() };
}
