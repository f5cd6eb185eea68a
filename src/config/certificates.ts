/**
 * The TLS certificates of the gRPC port and the HTTP port: of trusted certificate authorities, and
 * of this process.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { sep } from "node:path";
import { createSecureContext } from "node:tls";
import { onFileChange } from "../file-changes.js";
import type { Logger } from "../log.js";
import { type Config, SETTINGS } from "./config.js";
import { certificatesFault, certificatesIn, keyFault } from "./pem.js";
import { ConfigError } from "./setting.js";

const DAY_MS = 86_400_000;
/** How often the time of the certificates is looked at, in milliseconds. */
const CHECK_MS = 60_000;
/**
 * A certificate that will expire is logged this long before, in milliseconds, but only in the last
 * tenth of its validity.
 */
const NOTICE_MS = 7 * DAY_MS;

/** A certificate with its key, in PEM. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

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
  /** Further ones, for clients that ask for one of their names (SNI, RFC 6066 §3). */
  readonly others?: readonly KeyPair[] | undefined;
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
 * change. New connections use the new ones; open connections continue. A changed file that cannot
 * be used is logged, and what was read before stays in use: of a certificate and its key both. If
 * clients refuse a certificate of this process because of its time, or soon will, or if no
 * authority of the file is valid for long, it logs a warning within a minute, and then once a day.
 * @throws {ConfigError} if a file cannot be used at the start
 */
export function followCertificates(
  config: Files,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
  settings = GRPC_CERTIFICATES,
): Certificates {
  const sources = sourcesOf(config, settings);
  let current = load(sources, settings);
  let checks = 0;
  let said: (string | undefined)[] = [];
  const checkValidity = (): void => {
    const isDaily = checks++ % (DAY_MS / CHECK_MS) === 0;
    const checked = checkedIn(current, sources, settings);
    for (const [index, { about, cert, fault }] of checked.entries())
      if (fault !== undefined && (isDaily || fault !== said[index])) warnOfValidity(cert, fault, about, log);
    said = checked.map(({ fault }) => fault);
  };
  checkValidity();
  const timer = setInterval(checkValidity, CHECK_MS).unref();
  signal.addEventListener("abort", () => clearInterval(timer));
  const listeners: (() => void)[] = [];
  const onFault = ({ message }: ConfigError): void =>
    log.warn({ reason: message }, "the changed certificates are not used");
  const readAgain = (): void => {
    const read = load(sources, settings, { before: current, onFault });
    if (textOf(read) === textOf(current)) return;
    current = read;
    log.info("the certificates were read again");
    said = [];
    checkValidity();
    for (const listener of listeners) listener();
  };
  const files = [sources.ca, ...sources.pairs.flatMap(({ cert, key }) => [cert, key])];
  for (const file of files) if (file !== undefined) onFileChange(file, readAgain, signal);
  return {
    get ca() {
      return current.ca;
    },
    get cert() {
      return current.pairs[0]?.cert;
    },
    get key() {
      return current.pairs[0]?.key;
    },
    get others() {
      return current.pairs.slice(1);
    },
    onChange: (listener) => listeners.push(listener),
  };
}

function textOf({ ca, pairs }: Loaded): string {
  return [ca, ...pairs.flatMap(({ cert, key }) => [cert, key])].join("\0");
}

/** A certificate, where it is from, and what is wrong with its time. */
interface Checked {
  readonly about: { readonly setting: string; readonly file: string | undefined };
  readonly cert: Buffer;
  readonly fault: string | undefined;
}

/** The certificates of this process, and one for the authorities that it trusts. */
function checkedIn({ ca, pairs }: Loaded, sources: Sources, settings: CertificateSettings): Checked[] {
  const own = pairs.map(({ cert }, index) => {
    const about = { setting: SETTINGS[settings.cert].variable, file: sources.pairs[index]?.cert };
    return { about, cert, fault: timeFaultOf(cert) };
  });
  const authorities = ca === undefined ? [] : certificatesIn(ca);
  // An authority that is being replaced has the earlier one beside it.
  const faults = authorities.map(timeFaultOf);
  const fault = faults.includes(undefined) ? undefined : faults[0];
  const about = { setting: SETTINGS[settings.ca].variable, file: sources.ca };
  return [...own, ...authorities.slice(0, 1).map((cert) => ({ about, cert, fault }))];
}

function warnOfValidity(cert: Buffer, fault: string, about: Checked["about"], log: Logger): void {
  const { from, to } = validityOf(cert);
  log.warn({ ...about, from: new Date(from), to: new Date(to) }, `the certificate ${fault}`);
}

/** Why the operator must replace a certificate, in words; undefined if its time is right. */
export function timeFaultOf(cert: Buffer): string | undefined {
  const { from, to, fault } = validityOf(cert);
  if (fault !== undefined) return `${fault}: clients refuse it`;
  return to - Date.now() < Math.min(NOTICE_MS, (to - from) / 10) ? "expires soon: replace it" : undefined;
}

/** The fault of a certificate of this process. */
export interface CertificateFault {
  /**
   * The variable that names the file, such as `PORTICO_HTTP_TLS_CERT`; if it names several, with
   * the end of the file's path in parentheses.
   */
  readonly setting: string;
  readonly fault: string;
  /** When it expires, in milliseconds since 1970. */
  readonly to: number;
}

/**
 * The certificates of this process that clients refuse because of their time, or soon will.
 * @throws {ConfigError} if a file cannot be used, such as one whose key was not replaced with it:
 *   what was there before is in use
 */
export function certificateFaults(config: Files): CertificateFault[] {
  for (const settings of [HTTP_CERTIFICATES, GRPC_CERTIFICATES]) readCertificates(config, settings);
  return (["httpTlsCert", "tlsCert"] as const).flatMap((setting) =>
    namedFiles(config, setting).flatMap(([name, file]) => {
      const cert = readCertificate(setting, file);
      const fault = timeFaultOf(cert);
      return fault === undefined ? [] : [{ setting: name, fault, to: validityOf(cert).to }];
    }),
  );
}

/**
 * When the certificates in the files of the settings expire, in seconds since 1970, by the variable
 * that names the file; if it names several, with the end of the file's path in parentheses. A file
 * that cannot be read has none.
 */
export function certificateEnds(config: Files): (readonly [name: string, seconds: number])[] {
  const settings: readonly Setting[] = ["tlsCert", "tlsCa", "httpTlsCert", "httpTlsClientCa"];
  return settings.flatMap((setting) =>
    namedFiles(config, setting).flatMap(([name, file]) => {
      try {
        return [[name, validityOf(readCertificate(setting, file)).to / 1000] as const];
      } catch (error) {
        if (error instanceof ConfigError) return [];
        throw error;
      }
    }),
  );
}

/** The files of a setting, each with the name that operators know it by. */
function namedFiles(config: Files, setting: Setting): (readonly [name: string, file: string])[] {
  const files = [...new Set(listOf(config[setting]))];
  const { variable } = SETTINGS[setting];
  if (files.length === 1) return [[variable, files[0] as string]];
  return files.map((file) => [`${variable} (${shortName(file, files)})`, file]);
}

/** As many of the last parts of a path as tell it from the others: `shop/tls.crt`. */
function shortName(file: string, files: readonly string[]): string {
  const parts = file.split(sep);
  for (let count = 1; count < parts.length; count++) {
    const name = parts.slice(-count).join(sep);
    if (files.filter((other) => other === name || other.endsWith(sep + name)).length === 1) return name;
  }
  return file;
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
 * The names that a client can ask for to get a certificate (its subject alternative names of type
 * DNS, RFC 6125 §6.4), in lower case. A name may begin with `*.`.
 */
export function namesOf(cert: Buffer): string[] {
  const { subjectAltName = "" } = new X509Certificate(cert);
  // Node quotes a name with characters that a DNS name does not have.
  const names = [...subjectAltName.matchAll(/"(?:[^"\\]|\\.)*"|DNS:([^",\s]+)/g)].map(([, name]) =>
    name?.toLowerCase(),
  );
  return names.filter((name) => name !== undefined);
}

/**
 * Reads the files that the settings name.
 * @throws {ConfigError} if a file cannot be used
 */
export function readCertificates(config: Files, settings = GRPC_CERTIFICATES): Certificates {
  const { ca, pairs } = load(sourcesOf(config, settings), settings);
  const [first, ...others] = pairs;
  return { ca, cert: first?.cert, key: first?.key, others };
}

/** Paths of the files that settings name. */
interface Sources {
  readonly ca: string | undefined;
  readonly pairs: readonly { readonly cert: string; readonly key: string }[];
}

/** What they contain, in the same order. */
interface Loaded {
  readonly ca: Buffer | undefined;
  readonly pairs: readonly KeyPair[];
}

/** @throws {ConfigError} if certificates and keys are not in pairs */
function sourcesOf(config: Files, settings: CertificateSettings): Sources {
  const [certs, keys] = [listOf(config[settings.cert]), listOf(config[settings.key])];
  const { [settings.cert]: certSetting, [settings.key]: keySetting } = SETTINGS;
  if (certs.length !== keys.length) {
    const [there, missing] = certs.length === 0 ? [keySetting, certSetting] : [certSetting, keySetting];
    if (certs.length === 0 || keys.length === 0) {
      throw new ConfigError(`${there.variable} is set without ${missing.variable}: they go together`);
    }
    const counts = `${certs.length} ${certs.length === 1 ? "file" : "files"}, and ${missing.variable} ${keys.length}`;
    throw new ConfigError(`${there.variable} names ${counts}: name the key of each certificate, in the same order`);
  }
  const [ca] = listOf(config[settings.ca]);
  return { ca, pairs: certs.map((cert, index) => ({ cert, key: keys[index] as string })) };
}

function listOf(files: string | readonly string[] | undefined): readonly string[] {
  return files === undefined ? [] : typeof files === "string" ? [files] : files;
}

/**
 * @param again what was read before. It stays in place of a file that cannot be used now, and
 * `onFault` is called with the reason
 * @throws {ConfigError} if a file cannot be used, unless `again` is given
 */
function load(
  { ca, pairs }: Sources,
  settings: CertificateSettings,
  again?: { readonly before: Loaded; readonly onFault: (error: ConfigError) => void },
): Loaded {
  const attempt = <T>(read: () => T, before: T | undefined): T => {
    try {
      return read();
    } catch (error) {
      if (again === undefined || !(error instanceof ConfigError)) throw error;
      again.onFault(error);
      return before as T;
    }
  };
  return {
    ca: attempt(() => (ca === undefined ? undefined : readCertificate(settings.ca, ca)), again?.before.ca),
    pairs: pairs.map((pair, index) => attempt(() => readPair(pair, settings, index > 0), again?.before.pairs[index])),
  };
}

/** @param needsName whether clients get it only by one of its names */
function readPair(files: Sources["pairs"][number], settings: CertificateSettings, needsName: boolean): KeyPair {
  const [cert, key] = [readCertificate(settings.cert, files.cert), readPem(settings.key, files.key)];
  const fault = keyFault(key);
  if (fault !== undefined) throw new ConfigError(`${files.key} (${SETTINGS[settings.key].variable}) ${fault}`);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const { message } = error as Error;
    const { variable } = SETTINGS[settings.key];
    throw new ConfigError(`${files.key} (${variable}) is no key for ${files.cert}: ${message}`);
  }
  if (needsName && namesOf(cert).length === 0) {
    const { variable } = SETTINGS[settings.cert];
    const why = "has no DNS name that a client could ask for (subject alternative name), so no client would get it";
    throw new ConfigError(`${files.cert} (${variable}) ${why}: name it first, or leave it out`);
  }
  return { cert, key };
}

function readCertificate(setting: Setting, path: string): Buffer {
  const pem = readPem(setting, path);
  const fault = certificatesFault(pem);
  if (fault !== undefined) throw new ConfigError(`${path} (${SETTINGS[setting].variable}) ${fault}`);
  return pem;
}

function readPem(setting: Setting, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ConfigError(`${SETTINGS[setting].variable} cannot be read: ${(error as Error).message}`);
  }
}
