/**
 * The TLS certificates of the gRPC port and the HTTP port: of trusted certificate authorities, and
 * of this process.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { onFileChange } from "../file-changes.js";
import type { Logger } from "../log.js";
import { type Config, SETTINGS } from "./config.js";
import { ConfigError } from "./setting.js";

const DAY_MS = 86_400_000;
/**
 * A certificate that will expire is logged this long before, in milliseconds, but only in the last
 * tenth of its validity.
 */
const NOTICE_MS = 7 * DAY_MS;

/** PEM. */
export interface Certificates {
  /**
   * Of trusted certificate authorities: clients must then show a certificate of one of them.
   * Without it, clients need no certificate, and Node's own list is trusted.
   */
  readonly ca?: Buffer | undefined;
  /** Of this process, with its key. Without it the port accepts plain text. */
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  /**
   * Calls the listener when the certificates were replaced; undefined if they are never replaced.
   */
  readonly onChange?: ((listener: () => void) => void) | undefined;
}

/** The settings that name the files. */
export interface CertificateSettings {
  readonly ca: Setting;
  readonly cert: Setting;
  readonly key: Setting;
}

/** For gRPC. */
export const GRPC_CERTIFICATES: CertificateSettings = { ca: "tlsCa", cert: "tlsCert", key: "tlsKey" };
/** For the HTTP port. */
export const HTTP_CERTIFICATES = { ca: "httpTlsClientCa", cert: "httpTlsCert", key: "httpTlsKey" } as const;

type Setting = "tlsCa" | "tlsCert" | "tlsKey" | "httpTlsClientCa" | "httpTlsCert" | "httpTlsKey";
type Files = { readonly [setting in Setting]?: Config[setting] | undefined };

/**
 * Reads the certificates from the files that the settings name, and reads them again when they
 * change. New connections use the new ones; open connections continue. Changed files that cannot be
 * used are logged, and the previous certificates stay in use. Once a day it logs a warning if
 * clients refuse this process's certificate because of its time, or soon will.
 * @throws {ConfigError} if a file cannot be used at the start
 */
export function followCertificates(
  config: Files,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
  settings = GRPC_CERTIFICATES,
): Certificates {
  let current = readCertificates(config, settings);
  const checkValidity = (): void => warnOfValidity(current, settings.cert, log);
  checkValidity();
  const timer = setInterval(checkValidity, DAY_MS).unref();
  signal.addEventListener("abort", () => clearInterval(timer));
  const listeners: (() => void)[] = [];
  const readAgain = (): void => {
    try {
      const read = readCertificates(config, settings);
      const isSame = (["ca", "cert", "key"] as const).every((part) => `${read[part]}` === `${current[part]}`);
      if (isSame) return;
      current = read;
      log.info("the certificates were read again");
      checkValidity();
      for (const listener of listeners) listener();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      log.warn({ reason: error.message }, "the changed certificates are not used");
    }
  };
  for (const setting of Object.values(settings)) {
    const file = config[setting as Setting];
    if (file !== undefined) onFileChange(file, readAgain, signal);
  }
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

function warnOfValidity({ cert }: Certificates, setting: Setting, log: Logger): void {
  if (cert === undefined) return;
  const { from, to } = validityOf(cert);
  const fields = { setting: SETTINGS[setting].variable, from: new Date(from), to: new Date(to) };
  const fault = timeFaultOf(cert);
  if (fault !== undefined) log.warn(fields, `the certificate ${fault}`);
}

/** Why the operator must replace a certificate, in words; undefined if its time is right. */
export function timeFaultOf(cert: Buffer): string | undefined {
  const { from, to, fault } = validityOf(cert);
  if (fault !== undefined) return `${fault}: clients refuse it`;
  return to - Date.now() < Math.min(NOTICE_MS, (to - from) / 10) ? "expires soon: replace it" : undefined;
}

/** The fault of a certificate of this process. */
export interface CertificateFault {
  /** The variable that names the file, such as `PORTICO_HTTP_TLS_CERT`. */
  readonly setting: string;
  readonly fault: string;
  /** When it expires, in milliseconds since 1970. */
  readonly to: number;
}

/** The certificates of this process that clients refuse because of their time, or soon will. */
export function certificateFaults(config: Files): CertificateFault[] {
  return (["httpTlsCert", "tlsCert"] as const).flatMap((setting) => {
    const file = config[setting];
    if (file === undefined) return [];
    const cert = readCertificate(setting, file);
    const fault = timeFaultOf(cert);
    return fault === undefined ? [] : [{ setting: SETTINGS[setting].variable, fault, to: validityOf(cert).to }];
  });
}

/**
 * The period in which a certificate is valid, in milliseconds since 1970, and why it is not valid
 * now (in words).
 */
export function validityOf(cert: Buffer): { from: number; to: number; fault: string | undefined } {
  const { validFrom, validTo } = new X509Certificate(cert);
  const [from, to, now] = [Date.parse(validFrom), Date.parse(validTo), Date.now()];
  return { from, to, fault: now < from ? "is not yet valid" : now > to ? "has expired" : undefined };
}

/**
 * Reads the files that the settings name.
 * @throws {ConfigError} if a file cannot be used
 */
export function readCertificates(config: Files, settings = GRPC_CERTIFICATES): Certificates {
  const { [settings.cert]: certFile, [settings.key]: keyFile } = config;
  const { [settings.cert]: certSetting, [settings.key]: keySetting } = SETTINGS;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [there, missing] = certFile === undefined ? [keySetting, certSetting] : [certSetting, keySetting];
    throw new ConfigError(`${there.variable} is set without ${missing.variable}: they go together`);
  }
  const caFile = config[settings.ca];
  const ca = caFile === undefined ? undefined : readCertificate(settings.ca, caFile);
  if (certFile === undefined || keyFile === undefined) return { ca };
  const cert = readCertificate(settings.cert, certFile);
  const key = readPem(settings.key, keyFile);
  try {
    createSecureContext({ ca, cert, key });
  } catch (error) {
    const { message } = error as Error;
    throw new ConfigError(`${keyFile} (${keySetting.variable}) is no key for ${certFile}: ${message}`);
  }
  return { ca, cert, key };
}

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
