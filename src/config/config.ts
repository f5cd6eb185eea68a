/**
 * All settings of the server, in one table. A value comes from the flag, or else the variable, the
 * configuration file or the default, in this order. A wrong value stops the start with a message
 * that names the setting and says what is accepted.
 */
import { dirname, join } from "node:path";
import { parseAddress, parseGrpcTargets, parseHttpAddress } from "../address/address.js";
import { TrustedProxies } from "../address/client-address.js";
import { externalServices, readConfigFile } from "./config-file.js";
import type { ExternalService } from "./configured-services.js";
import { usualFolder } from "./data-folder.js";
import {
  ConfigError,
  EXTERNAL,
  GRPC_PORT,
  HTTP_PORT,
  JOINING,
  SERVICE_STORE,
  type Setting,
  STORE,
  secret,
  setting,
} from "./setting.js";
import {
  boolean,
  bytes,
  documentHosts,
  duration,
  filePath,
  filePaths,
  folderPath,
  fraction,
  hosts,
  integer,
  oneOf,
  origin,
  origins,
  outputPath,
  serviceNames,
  storeUrl,
} from "./setting-values.js";
import { TELEMETRY_SETTINGS } from "./telemetry-settings.js";

/** All settings. For `maxBody` the flag is `--max-body`, and the name in the file is `maxBody`. */
export const SETTINGS = {
  http: setting(
    "PORTICO_HTTP",
    "127.0.0.1:8080",
    "where callers reach the gateway; unix:/path is a Unix socket with mode 0660",
    parseHttpAddress,
    HTTP_PORT,
  ),
  grpc: setting(
    "PORTICO_GRPC",
    "127.0.0.1:8081",
    "where services, gateways and internal clients connect",
    parseAddress,
    GRPC_PORT,
  ),
  admin: setting("PORTICO_ADMIN", "127.0.0.1:8082", "metrics and health of this process", parseAddress),
  data: setting("PORTICO_DATA", undefined, "folder that holds the store and the first password", folderPath),
  store: setting(
    "PORTICO_STORE",
    "sqlite:",
    "the store; sqlite: is portico.sqlite in the data folder, postgres://… a database",
    storeUrl,
    STORE,
  ),
  serviceStore: setting(
    "PORTICO_SERVICE_STORE",
    "sqlite:",
    "database of the built-in services; sqlite: is services.sqlite in the data folder, for a service alone in services/<name> there unless the folder is its installation's; postgres://… a database of Postgres",
    storeUrl,
    SERVICE_STORE,
  ),
  serviceQuota: setting(
    "PORTICO_SERVICE_QUOTA",
    undefined,
    "maximum bytes of the keys and values that a service stores in a namespace, such as 1GiB; default no maximum. The same in all processes of the services",
    bytes(1, 1024 ** 5),
    SERVICE_STORE,
  ),
  ownServices: {
    ...setting(
      "PORTICO_OWN_SERVICES",
      "*",
      "which built-in services run, separated by commas; * all, none none",
      serviceNames,
      ["server"],
    ),
    flag: "services",
  },
  config: setting("PORTICO_CONFIG", undefined, "configuration file; default portico.json in the data folder", filePath),
  adminPassword: secret("PORTICO_ADMIN_PASSWORD", "first password of the account admin, instead of a random one"),
  authority: setting(
    "PORTICO_AUTHORITY",
    "127.0.0.1:8081",
    "the authorities, for a gateway or a service alone, separated by commas; grpcs://host:port with TLS. A name stands for all its addresses",
    parseGrpcTargets,
    JOINING,
  ),
  advertise: setting(
    "PORTICO_ADVERTISE",
    undefined,
    "where others reach this service; default the gRPC address",
    parseAddress,
    GRPC_PORT,
  ),
  enrolment: secret("PORTICO_ENROLMENT", "enrolment token; default the one in the data folder"),
  transport: setting(
    "PORTICO_TRANSPORT",
    "http2",
    "the gRPC transport: http2 (Portico's own) or grpc-js",
    oneOf("http2", "grpc-js"),
  ),
  tlsCert: setting(
    "PORTICO_TLS_CERT",
    undefined,
    "file with this process's certificate (PEM): its gRPC port then speaks TLS",
    filePath,
  ),
  tlsKey: setting("PORTICO_TLS_KEY", undefined, "file with the key of that certificate (PEM)", filePath),
  tlsCa: setting(
    "PORTICO_TLS_CA",
    undefined,
    "file with the trusted certificate authorities (PEM); default Node's. With it, clients of the gRPC port must show a certificate",
    filePath,
  ),
  httpTlsCert: setting(
    "PORTICO_HTTP_TLS_CERT",
    undefined,
    "file with the certificate of the HTTP port, and those between it and its authority (PEM): it then speaks TLS. Several, separated by colons: a client gets the one with the name that it asks for, or else the first",
    filePaths,
    HTTP_PORT,
  ),
  httpTlsKey: setting(
    "PORTICO_HTTP_TLS_KEY",
    undefined,
    "file with the key of that certificate (PEM); of several, in the same order",
    filePaths,
    HTTP_PORT,
  ),
  httpTlsClientCa: setting(
    "PORTICO_HTTP_TLS_CLIENT_CA",
    undefined,
    "file with certificate authorities (PEM): clients of the HTTP port must then show a certificate of one of them",
    filePath,
    HTTP_PORT,
  ),
  credentials: setting(
    "PORTICO_CREDENTIALS",
    undefined,
    "folder with the credentials and certificates that services which join by configuration name in their options",
    folderPath,
    EXTERNAL,
  ),
  httpHosts: setting(
    "PORTICO_HTTP_HOSTS",
    "none",
    "host names that the HTTP ports serve besides loopback names, separated by commas; * any. A port that is not bound to loopback serves any name until this is set",
    hosts,
  ),
  cors: setting(
    "PORTICO_CORS",
    "none",
    "origins whose pages may call, besides the gateway's own, separated by commas; * any",
    origins,
    HTTP_PORT,
  ),
  oauthDocuments: setting(
    "PORTICO_OAUTH_DOCUMENTS",
    "any",
    "whose client id metadata documents are fetched when a person signs in: any, off, or hosts separated by commas; a host that is listed may be loopback and plain http",
    documentHosts,
    HTTP_PORT,
  ),
  trustedProxies: setting(
    "PORTICO_TRUSTED_PROXIES",
    "none",
    "addresses and CIDR ranges of proxies, separated by commas, and unix for all who can open the Unix socket: they alone say who their clients are, by Forwarded, X-Forwarded-For or PROXY. Limits for one client address do not hold for them",
    TrustedProxies.parse,
  ),
  proxyProtocol: setting(
    "PORTICO_PROXY_PROTOCOL",
    "none",
    "whether connections to the HTTP port begin with a PROXY header, version 1 or 2: none, accept (they may) or require (they must). Needs trusted proxies",
    oneOf("none", "accept", "require"),
    HTTP_PORT,
  ),
  publicUrl: setting(
    "PORTICO_PUBLIC_URL",
    undefined,
    "address at which callers reach the gateway, such as https://api.example.com: the base of links in responses; default the host of the request",
    origin,
    HTTP_PORT,
  ),
  omitZeros: setting(
    "PORTICO_OMIT_ZEROS",
    "false",
    "true leaves fields without presence out of responses when they are zero or empty",
    boolean,
    HTTP_PORT,
  ),
  logLevel: setting(
    "PORTICO_LOG_LEVEL",
    "info",
    "trace, debug, info, warn, error, fatal or silent",
    oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent"),
  ),
  accessLog: setting(
    "PORTICO_ACCESS_LOG",
    "all",
    "which requests and calls have a line in the log at level info: off, errors (HTTP status from 400 on, gRPC code other than OK) or all",
    oneOf("off", "errors", "all"),
  ),
  accessLogSample: setting(
    "PORTICO_ACCESS_LOG_SAMPLE",
    "1",
    "share of the requests and calls without an error that have a line, from 0.0001 to 1; their lines say it in the field sample",
    fraction(0.0001),
  ),
  ...TELEMETRY_SETTINGS,
  maxBody: setting(
    "PORTICO_MAX_BODY",
    "4MiB",
    "largest body of a request; for a gRPC message at least 4MiB",
    bytes(1, 2 ** 30),
  ),
  maxHeaders: setting("PORTICO_MAX_HEADERS", "16KiB", "largest header section", bytes(1024, 2 ** 20), HTTP_PORT),
  maxHeaderCount: setting(
    "PORTICO_MAX_HEADER_COUNT",
    "100",
    "largest number of headers of a request",
    integer(10, 2000),
    HTTP_PORT,
  ),
  headerTime: setting("PORTICO_HEADER_TIME", "10s", "time to send the headers", duration(0.1, 300), HTTP_PORT),
  bodyTime: setting("PORTICO_BODY_TIME", "30s", "time to send the body", duration(0.1, 3600), HTTP_PORT),
  callTime: setting(
    "PORTICO_CALL_TIME",
    "30s",
    "time that a call may take when the caller asks for none",
    duration(0.01, 90),
  ),
  maxCallTime: setting("PORTICO_MAX_CALL_TIME", "90s", "longest time that a caller may ask for", duration(0.01, 3600)),
  keepAlive: setting("PORTICO_KEEP_ALIVE", "65s", "how long an idle connection is kept", duration(1, 3600), HTTP_PORT),
  maxConnections: setting(
    "PORTICO_MAX_CONNECTIONS",
    "10000",
    "largest number of connections at once",
    integer(1, 1_000_000),
    HTTP_PORT,
  ),
  workers: setting("PORTICO_WORKERS", "1", "processes that share a gateway's HTTP port", integer(1, 64), ["gateway"]),
  maxRules: setting(
    "PORTICO_MAX_RULES",
    "10000",
    "largest number of rules in a namespace",
    integer(1, 1_000_000),
    STORE,
  ),
  auditRetention: setting(
    "PORTICO_AUDIT_RETENTION",
    "400d",
    "how long records of the audit trail are stored",
    duration(86_400, 315_360_000),
    STORE,
  ),
  auditMax: setting(
    "PORTICO_AUDIT_MAX",
    "10GiB",
    "size of the authority's store, with the audit trail, from which /readyz says degraded; changes go on",
    bytes(1024 ** 2, 1024 ** 5),
    STORE,
  ),
  auditLog: setting("PORTICO_AUDIT_LOG", undefined, "file for audit records as JSON; - is stdout", outputPath, STORE),
  lease: setting(
    "PORTICO_LEASE",
    "5s",
    "how long a guard may decide without news from the authority",
    duration(0.5, 60),
    STORE,
  ),
  drain: setting(
    "PORTICO_DRAIN",
    "10s",
    "how long a stop may take: the notice, then calls in flight finish",
    duration(0, 600),
  ),
  drainNotice: setting(
    "PORTICO_DRAIN_NOTICE",
    "5s",
    "how long calls are still taken after /readyz says 503; at most half of the drain, none on a terminal",
    duration(0, 300),
  ),
} satisfies Record<string, Setting<unknown>>;

type Value<S> = S extends Setting<infer T> ? T : never;
type Optional = "config" | "credentials" | "otlp" | "publicUrl" | "serviceQuota" | ProcessIdentity | CertificateFile;
type ProcessIdentity = "adminPassword" | "advertise" | "enrolment";
type CertificateFile = "tlsCert" | "tlsKey" | "tlsCa" | "httpTlsCert" | "httpTlsKey" | "httpTlsClientCa";

/** Parsed settings: addresses as host and port, times in milliseconds, sizes in bytes. */
export type Config = { readonly [K in Exclude<keyof typeof SETTINGS, Optional>]: Value<(typeof SETTINGS)[K]> } & {
  readonly [K in Optional]: Value<(typeof SETTINGS)[K]> | undefined;
} & {
  /** The path of the configuration file. The file need not exist unless a setting names it. */
  readonly configFile: string;
  readonly services: readonly ExternalService[];
};

/** The flags of the command line as text, by setting. */
export type Flags = { readonly [K in keyof typeof SETTINGS]?: string };

/** Reads every setting. @throws {ConfigError} */
export function loadConfig(flags: Flags = {}, env: NodeJS.ProcessEnv = process.env): Config {
  const named = read("config", flags, env, {}) as string | undefined;
  const path = named ?? join((read("data", flags, env, {}) as string | undefined) ?? usualFolder(env), "portico.json");
  const file = readConfigFile(path, named !== undefined, SETTINGS);
  const services = externalServices(file.services, dirname(path));
  const config: Record<string, unknown> = { configFile: path, services };
  for (const key of Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]) config[key] = read(key, flags, env, file);
  config.data ??= usualFolder(env);
  if ((config.callTime as number) > (config.maxCallTime as number)) {
    const [usual, longest] = [config.callTime, config.maxCallTime].map((ms) => `${Number(ms) / 1000}s`);
    throw new ConfigError(
      `${SETTINGS.callTime.variable} is ${usual}, more than ${SETTINGS.maxCallTime.variable}, which is ${longest}: lower the first, or raise the second`,
    );
  }
  return config as unknown as Config;
}

/**
 * Reads the services in a configuration file.
 * @throws {ConfigError} also if the file does not exist
 */
export function readServices(path: string): ExternalService[] {
  return externalServices(readConfigFile(path, true, SETTINGS).services, dirname(path));
}

function read(
  key: keyof typeof SETTINGS,
  flags: Flags,
  env: NodeJS.ProcessEnv,
  file: Record<string, unknown>,
): unknown {
  const { variable, default: fallback, parse } = SETTINGS[key] as Setting<unknown>;
  const given: [unknown, string][] = [
    [flags[key], `--${flagName(key)}`],
    [env[variable] || undefined, variable],
    [file[key], `"${key}" in the configuration file`],
    [fallback, `the default of ${variable}`],
  ];
  const [value, origin] = given.find(([candidate]) => candidate !== undefined) ?? [];
  if (value === undefined) return undefined;
  try {
    return parse(String(value));
  } catch (error) {
    // A URL may contain a password.
    const shown = JSON.stringify(value).replace(/\/\/[^/]*@/, "//…@");
    throw new ConfigError(`${origin} is ${shown}: ${(error as Error).message}`);
  }
}

/** The flag of a setting: `max-body` for `maxBody`. */
export function flagName(key: string): string {
  const settings: Readonly<Record<string, Setting<unknown>>> = SETTINGS;
  return settings[key]?.flag ?? key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
