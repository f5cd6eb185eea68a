/**
 * What the options of an external service name in the folder PORTICO_CREDENTIALS: the credential
 * that this process shows the service, and the files for its TLS.
 *
 * An administrator chooses the names of files and the targets. The operator of this process decides
 * who may be shown a credential: `NAME.targets` lists the hosts.
 */
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { formatAddress, formatGrpcTarget, type GrpcTarget, parseGrpcTarget } from "../address/address.js";
import { canonicalAddress } from "../address/client-address.js";
import { isBelowLocalhost, isLoopback } from "../address/loopback.js";
import { isBinaryName, type Metadata } from "../call/metadata.js";
import { SETTINGS } from "../config/config.js";
import { certificatesFault, keyFault } from "../config/pem.js";
import { MalformedFileError, readSecretFile, SECRET_FILE_NAME, SecretFileError } from "../config/secret-files.js";
import type { Credential, ServiceOptions } from "../gen/portico/registry/v1/service_options.js";
import type { ServiceTls } from "../rpc/transport.js";

/** The options that name files. */
export type SecretOptions = Pick<ServiceOptions, "credential" | "tls">;

export interface ServiceSecrets {
  /** The metadata with the credential; undefined if the service has none. */
  readonly shown: Metadata[number] | undefined;
  /** Undefined for a target without TLS. */
  readonly tls: ServiceTls | undefined;
}

const KIB = 1024;
const MAX_CREDENTIAL = 16 * KIB;
const MAX_TARGETS = 64 * KIB;
/** A file with all public certificate authorities has about 220 KiB. */
const MAX_PEM = 512 * KIB;

/** A value of metadata (PROTOCOL-HTTP2.md, "ASCII-Value") that no end changes by trimming. */
const TEXT = /^[!-~](?:[ -~]*[!-~])?$/;
/** `host`, `host:port`, `[::1]` or `[::1]:443`, in lower case. */
const LISTED_HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/;
const DEFAULT_HEADER = "authorization";

/**
 * The paths of the files that the options name.
 * @param folder PORTICO_CREDENTIALS
 */
export function secretFilesOf(folder: string | undefined, { credential, tls }: SecretOptions): string[] {
  if (folder === undefined) return [];
  const shown = credential === undefined ? [] : [credential.name, targetsFileOf(credential)];
  const names = [...shown, tls?.ca ?? "", tls?.cert ?? "", tls?.key ?? ""];
  return names.filter((name) => SECRET_FILE_NAME.test(name)).map((name) => join(folder, name));
}

/**
 * Reads the files for TLS, for a service that is to be added.
 * @param folder PORTICO_CREDENTIALS
 * @throws {MalformedFileError} for a file without a certificate or its key
 * @throws {SecretFileError} for a file that cannot be read
 */
export function checkTlsFiles(folder: string | undefined, { tls }: SecretOptions): void {
  if (tls !== undefined) readTls(tls, readerOf(folder));
}

/**
 * Reads the files for one target.
 * @param folder PORTICO_CREDENTIALS
 * @throws {SecretFileError} if a file cannot be used, or the target may not be shown the credential
 */
export function readServiceSecrets(
  folder: string | undefined,
  { credential, tls }: SecretOptions,
  target: GrpcTarget,
): ServiceSecrets {
  const read = readerOf(folder);
  const own = tls !== undefined && "tls" in target ? readTls(tls, read) : undefined;
  if (credential === undefined) return { shown: undefined, tls: own };
  checkTransport(credential, target);
  const listed = new Set(readTargets(credential, read));
  for (const host of hostsOf(target, own?.servername)) {
    if (host.some((form) => listed.has(form))) continue;
    const list = join(folder as string, targetsFileOf(credential));
    throw new SecretFileError(`${list} does not list ${host[0]}, so it is not shown the credential`);
  }
  return { shown: readCredential(credential, read), tls: own };
}

type Read = (name: string, maxBytes: number) => Buffer;

function readerOf(folder: string | undefined): Read {
  return (name, maxBytes) => {
    if (folder !== undefined) return readSecretFile(folder, name, maxBytes);
    throw new SecretFileError(`${SETTINGS.credentials.variable} is not set, so no service has a credential`);
  };
}

function targetsFileOf({ name }: Credential): string {
  return `${name}.targets`;
}

/** @throws {SecretFileError} if others on the network could read the credential */
function checkTransport({ name }: Credential, target: GrpcTarget): void {
  if ("path" in target || target.tls || loopbackOf(target) !== undefined) return;
  const address = formatAddress(target);
  throw new SecretFileError(
    `the credential ${name} is not sent to ${address} in plain text, which is no loopback address: write grpcs://${address}`,
  );
}

/**
 * The loopback address to connect to, if the target is one. A name of this computer (RFC 6761,
 * section 6.3) is not looked up, because the result could change. Every other name, and any other
 * form of an address, is not loopback.
 */
export function loopbackOf(target: GrpcTarget): string | undefined {
  if ("path" in target) return undefined;
  const { host } = target;
  if (host.toLowerCase() === "localhost" || isBelowLocalhost(host)) return "127.0.0.1";
  return isLoopback(canonicalAddress(host) ?? "") ? host : undefined;
}

/** The forms in which each host may be listed. The name that TLS checks must be listed too. */
function hostsOf(target: GrpcTarget, servername: string | undefined): string[][] {
  if ("path" in target) return [[formatGrpcTarget(target)]];
  const { port } = target;
  const hosts = new Set([target.host.toLowerCase(), (servername ?? target.host).toLowerCase()]);
  return [...hosts].map((host) => [host.includes(":") ? `[${host}]` : host, formatAddress({ host, port })]);
}

function readTargets(credential: Credential, read: Read): string[] {
  const name = targetsFileOf(credential);
  const lines = read(name, MAX_TARGETS).toString("latin1").split("\n");
  return lines.flatMap((text, index) => {
    const line = text.trim();
    if (line === "") return [];
    const listed = line.startsWith("unix:") ? socketOf(line) : line.toLowerCase();
    if (listed !== undefined && (listed.startsWith("unix:") || LISTED_HOST.test(listed))) return [listed];
    throw new SecretFileError(`${name}: line ${index + 1} is not host, host:port or unix:/path`);
  });
}

function socketOf(line: string): string | undefined {
  try {
    return formatGrpcTarget(parseGrpcTarget(line));
  } catch {
    return undefined;
  }
}

function readCredential({ name, header }: Credential, read: Read): Metadata[number] {
  const content = read(name, MAX_CREDENTIAL);
  const end = content.at(-1) === 0x0a ? (content.at(-2) === 0x0d ? -2 : -1) : content.length;
  const secret = content.subarray(0, end);
  if (isBinaryName(header) && secret.length > 0) return [header, secret];
  const text = secret.toString("latin1");
  if (!TEXT.test(text)) {
    throw new SecretFileError(
      `the file ${name} is no credential: it must have one line of printable ASCII without spaces at its ends`,
    );
  }
  return header === "" ? [DEFAULT_HEADER, `Bearer ${text}`] : [header, text];
}

function readTls({ ca, cert, key, serverName }: NonNullable<SecretOptions["tls"]>, read: Read): ServiceTls {
  const pem = (name: string): Buffer | undefined => (name === "" ? undefined : read(name, MAX_PEM));
  if ((cert === "") !== (key === "")) throw new SecretFileError("cert and key belong together: one is not set");
  const files = { ca: pem(ca), cert: pem(cert), key: pem(key) };
  if (files.ca !== undefined) checkFile(ca, certificatesFault(files.ca));
  if (files.cert !== undefined) checkFile(cert, certificatesFault(files.cert));
  if (files.key !== undefined) checkFile(key, keyFault(files.key));
  try {
    createSecureContext(files);
  } catch (error) {
    throw new MalformedFileError(`${key} is no key for ${cert}: ${(error as Error).message}`);
  }
  return serverName === "" ? files : { ...files, servername: serverName };
}

/** @throws {MalformedFileError} if the file has a fault */
function checkFile(name: string, fault: string | undefined): void {
  if (fault !== undefined) throw new MalformedFileError(`${name} ${fault}`);
}
