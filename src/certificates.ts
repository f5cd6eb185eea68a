/** The certificates for gRPC over TLS: those of the authorities that are trusted, and this process's own. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type Config, ConfigError, SETTINGS } from "./config.js";
import { onFileChange } from "./file-changes.js";
import type { Logger } from "./log.js";

/** PEM. */
export interface Certificates {
  /** Of trusted authorities. Without it Node's own list is trusted, and clients need not show a certificate. */
  readonly ca?: Buffer | undefined;
  /** Of this process, with its key. Without it the gRPC port speaks plain text. */
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  /** Calls the listener when they have been replaced. Without it they never are. */
  readonly onChange?: ((listener: () => void) => void) | undefined;
}

/**
 * The certificates in the files that the settings name, as they are now. Files that change are read again: new connections
 * use them, and those that stand go on. Files that cannot be used are logged, and the certificates before stay.
 * @throws {ConfigError} when a file cannot be used at the start
 */
export function followCertificates(
  config: Pick<Config, Setting>,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Certificates {
  let current = readCertificates(config);
  const listeners: (() => void)[] = [];
  const readAgain = (): void => {
    try {
      const read = readCertificates(config);
      const isSame = (["ca", "cert", "key"] as const).every((part) => `${read[part]}` === `${current[part]}`);
      if (isSame) return;
      current = read;
      log.info("the certificates were read again");
      for (const listener of listeners) listener();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      log.warn({ reason: error.message }, "the changed certificates are not used");
    }
  };
  const files = [config.tlsCa, config.tlsCert, config.tlsKey].filter((file) => file !== undefined);
  for (const file of files) onFileChange(file, readAgain, signal);
  return {
    get ca() {
      return current.ca;
    },
    get cert() {
      return current.cert;
    },
    get key() {
      return current.key;
    },
    onChange: (listener) => listeners.push(listener),
  };
}

/**
 * Reads the files that the settings name.
 * @throws {ConfigError} when a file cannot be used
 */
export function readCertificates({ tlsCa, tlsCert, tlsKey }: Pick<Config, Setting>): Certificates {
  const { tlsCert: certSetting, tlsKey: keySetting } = SETTINGS;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    const [there, missing] = tlsCert === undefined ? [keySetting, certSetting] : [certSetting, keySetting];
    throw new ConfigError(`${there.variable} is set without ${missing.variable}: they go together`);
  }
  const ca = tlsCa === undefined ? undefined : readCertificate("tlsCa", tlsCa);
  if (tlsCert === undefined || tlsKey === undefined) return { ca };
  const cert = readCertificate("tlsCert", tlsCert);
  const key = readPem("tlsKey", tlsKey);
  try {
    createSecureContext({ ca, cert, key });
  } catch (error) {
    const { message } = error as Error;
    throw new ConfigError(`${tlsKey} (${keySetting.variable}) is no key for ${tlsCert}: ${message}`);
  }
  return { ca, cert, key };
}

type Setting = "tlsCa" | "tlsCert" | "tlsKey";

function readCertificate(setting: Setting, path: string): Buffer {
  const pem = readPem(setting, path);
  try {
    new X509Certificate(pem);
  } catch (error) {
    throw new ConfigError(
      `${path} (${SETTINGS[setting].variable}) has no PEM certificate: ${(error as Error).message}`,
    );
  }
  return pem;
}

function readPem(setting: Setting, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ConfigError(`${SETTINGS[setting].variable} cannot be read: ${(error as Error).message}`);
  }
}
