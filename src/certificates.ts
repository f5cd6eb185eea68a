/** What a process shows of itself, and whom it believes, where gRPC is spoken over TLS. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type Config, ConfigError, SETTINGS } from "./config.js";

/** PEM. */
export interface Certificates {
  /** Of authorities. Left out, Node's own list is believed, and clients need not show a certificate. */
  readonly ca?: Buffer | undefined;
  /** Of this process, with its key. Left out, its gRPC port speaks plain text. */
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

/**
 * Reads the files that the settings name; once, so new ones count from the next start.
 * @throws {ConfigError} when one cannot be used.
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
